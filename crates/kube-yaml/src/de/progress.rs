//! The state of reading a tree, across all runs.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use crate::{
    node::{Mark, Node},
    problem::Problem,
    to_json::Replacements,
};

/// Checks a node before it is read as a named newtype, such as `Quantity`. May return a text that
/// replaces the node.
pub(crate) type Inspect = fn(&'static str, &Node<'_>) -> Result<Option<String>, String>;

/// The treatment of fields that the type does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Each unknown field is a problem.
    Found,
    /// Unknown fields are left out.
    Ignored,
}

/// The differences between the fields of types and those of the Rust types.
#[derive(Clone, Copy)]
pub struct Fields<'f> {
    /// Returns the reason why a field of a type is unknown although the Rust type has it.
    pub absent: &'f dyn Fn(&str, &str) -> Option<String>,
    /// Returns the fields of a mapping of texts that the Rust type does not have.
    pub extra: &'f dyn Fn(&str, &str) -> Option<&'static [&'static str]>,
}

impl Fields<'_> {
    /// The fields of the Rust types, without differences.
    pub(crate) const OF_TYPES: Fields<'static> =
        Fields { absent: &|_, _| None, extra: &|_, _| None };
}

/// The state of reading a tree. Nodes are identified by their addresses: the tree does not move.
pub(super) struct Progress<'f> {
    pub(super) inspect: Inspect,
    pub(super) unknown: Unknown,
    pub(super) fields: Fields<'f>,
    /// The problems found in this run.
    pub(super) found: RefCell<Found>,
    pub(super) instead: RefCell<Replacements>,
    /// Nodes that are left out because they do not fit their type, by address.
    pub(super) broken: RefCell<HashMap<usize, Problem>>,
    /// The missing fields that are made up because their type requires them.
    pub(super) missing: RefCell<Vec<Missing>>,
    pub(super) gave_up: Cell<bool>,
}

/// The most problems of a run that are kept. A document with hundreds of thousands of unknown fields
/// would otherwise take a thousand bytes for each of them.
const MAX_FOUND: usize = 100;

/// The problems of a run. A bounded number is kept, and the others are counted.
#[derive(Debug, Default)]
pub(super) struct Found {
    kept: Vec<Problem>,
    left_out: usize,
    /// The position of the first problem that was left out.
    rest: Mark,
}

impl Found {
    /// Adds the problem at this position, which is described only if it is kept.
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

    /// Returns the problems, with one more for those that were left out.
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
    /// The problem; `None` if the node is not a mapping, because that is the problem then.
    pub(super) problem: Option<Problem>,
}

impl Default for Progress<'_> {
    fn default() -> Self {
        Progress {
            inspect: |_, _| Ok(None),
            unknown: Unknown::Found,
            fields: Fields::OF_TYPES,
            found: RefCell::default(),
            instead: RefCell::default(),
            broken: RefCell::default(),
            missing: RefCell::default(),
            gave_up: Cell::default(),
        }
    }
}
