use std::fmt;

use crate::rules::prelude::*;

const MOST_NAMED: usize = 3;

/// Formats nodes as `2 nodes (a, b)`.
#[derive(Default)]
pub(in crate::rules) struct MatchingNodes<'a> {
    count: usize,
    names: Vec<&'a str>,
}

impl<'a> MatchingNodes<'a> {
    pub(in crate::rules) fn add(&mut self, item: &'a ObjectSummary) {
        self.count += 1;
        self.names.push(item.name());
        // The first names in alphabetical order, whatever the order of the nodes.
        self.names.sort_unstable();
        self.names.truncate(MOST_NAMED);
    }

    pub(in crate::rules) const fn count(&self) -> usize {
        self.count
    }
}

impl fmt::Display for MatchingNodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.count > self.names.len() { ", …" } else { "" };
        let noun = if self.count == 1 { "node" } else { "nodes" };
        write!(f, "{} {noun} ({}{more})", self.count, self.names.join(", "))
    }
}
