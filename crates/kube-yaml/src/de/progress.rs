//! The state that one run of reading a tree passes to the next.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use crate::{
    node::{Mark, Node},
    problem::Problem,
    to_json::Replacements,
};

/// Checks a node before a newtype such as `Quantity` reads it. It can return a text to read instead.
pub(crate) type Inspect = fn(&'static str, &Node<'_>) -> Result<Option<String>, String>;

/// The treatment of fields that the type doesn't have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Each one is a problem.
    Found,
    /// They are skipped.
    Ignored,
}

/// The differences between the fields of a Kubernetes type and the Rust type. The Rust type follows the newest release.
#[derive(Clone, Copy)]
pub struct Fields<'f> {
    /// Returns why a field is unknown although the Rust type has it. Arguments: type and field.
    pub absent: &'f dyn Fn(&str, &str) -> Option<String>,
    /// Returns the keys of a field that the Rust type lacks. The field is a mapping of texts.
    pub extra: &'f dyn Fn(&str, &str) -> Option<&'static [&'static str]>,
}

impl Fields<'_> {
    pub(crate) const OF_TYPES: Fields<'static> =
        Fields { absent: &|_, _| None, extra: &|_, _| None };
}

/// The state of reading a tree. Nodes are identified by address, since the tree does not move.
pub(super) struct Progress<'f> {
    pub(super) inspect: Inspect,
    pub(super) unknown: Unknown,
    pub(super) fields: Fields<'f>,
    /// Emptied before each run, because each run finds the same problems again.
    pub(super) found: RefCell<Found>,
    pub(super) instead: RefCell<Replacements>,
    /// Nodes that their type rejected in an earlier run; this run skips them.
    pub(super) broken: RefCell<HashMap<usize, Problem>>,
    /// Required fields that were missing in an earlier run; this run supplies null.
    pub(super) missing: RefCell<Vec<Missing>>,
    pub(super) gave_up: Cell<bool>,
}

impl Progress<'_> {
    pub(super) fn into_found(self) -> (Vec<Problem>, Replacements) {
        let mut problems = self.found.into_inner().into_problems();
        problems.extend(self.broken.into_inner().into_values());
        problems.extend(self.missing.into_inner().into_iter().filter_map(|it| it.problem));
        problems.sort_by_key(|problem| problem.mark);
        (problems, self.instead.into_inner())
    }
}

/// A problem takes about a thousand bytes, and a document can have hundreds of thousands of unknown fields.
const MAX_FOUND: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Found {
    kept: Vec<Problem>,
    left_out: usize,
    /// The position of the first problem beyond the limit.
    rest: Mark,
}

impl Found {
    /// `describe` runs only if there is room.
    pub(super) fn add(&mut self, mark: Mark, describe: impl FnOnce() -> Problem) {
        if self.kept.len() < MAX_FOUND {
            self.kept.push(describe());
            return;
        }
        if self.left_out == 0 {
            self.rest = mark;
        }
        self.left_out += 1;
    }

    /// Adds one problem that counts the rest.
    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        if self.left_out > 0 {
            let message = format!("and {} more problems, from here on", self.left_out);
            self.kept.push(Problem::at(self.rest, message));
        }
        self.kept
    }
}

pub(super) struct Missing {
    pub(super) of: usize,
    pub(super) name: &'static str,
    /// `None` if the node is not a mapping, because that problem is reported instead.
    pub(super) problem: Option<Problem>,
}
