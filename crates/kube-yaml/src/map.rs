//! A mapping under construction. If a key occurs twice, the last one wins, as in kubectl.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

use super::{
    node::{Key, Mark, Node},
    problem::Problem,
};
use crate::Path;

/// Up to this many keys, comparing one by one is faster than an index.
const MANY: usize = 24;

#[derive(Default)]
pub(super) struct Entries<'a> {
    list: Vec<(Key<'a>, Node<'a>)>,
    /// Indices of entries from a merge key (`<<`). Writing such a key again is no duplicate.
    merged: BTreeSet<usize>,
    index: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Entries<'a> {
    /// If the key was written before, returns it with its previous position.
    pub(super) fn insert(&mut self, key: Key<'a>, node: Node<'a>) -> Option<(Cow<'a, str>, Mark)> {
        let Some(i) = self.find(&key.name) else {
            self.push(key, node);
            return None;
        };
        let merged = self.merged.remove(&i);
        let entry = self.list.get_mut(i)?;
        let (before, _) = std::mem::replace(entry, (key, node));
        (!merged).then_some((before.name, before.mark))
    }

    /// The entry replaces an earlier one, as in kubectl but against the YAML specification.
    pub(super) fn merge(&mut self, key: Key<'a>, node: Node<'a>) {
        match self.find(&key.name).and_then(|i| self.list.get_mut(i)) {
            Some(entry) => entry.1 = node,
            None => {
                self.merged.insert(self.list.len());
                self.push(key, node);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<(Key<'a>, Node<'a>)> {
        self.list
    }

    fn push(&mut self, key: Key<'a>, node: Node<'a>) {
        let i = self.list.len();
        if i >= MANY {
            self.index.insert(key.name.clone(), i);
        }
        self.list.push((key, node));
    }

    fn find(&self, name: &str) -> Option<usize> {
        let first = self.list.iter().take(MANY).position(|(key, _)| key.name == name);
        first.or_else(|| self.index.get(name).copied())
    }
}

pub(super) fn duplicate(path: Option<&Path<'_>>, name: &str, before: Mark, mark: Mark) -> Problem {
    Problem {
        field: path.map_or_else(|| Path::new(name), |path| path.child(name)).to_field(),
        mark,
        message: if before.line == mark.line {
            format!("key {name:?} occurs twice on line {}", mark.line)
        } else {
            format!("key {name:?} occurs twice: on line {} and on line {}", before.line, mark.line)
        },
        help: Some("kubectl would drop the first one silently; keep only one".to_owned()),
    }
}
