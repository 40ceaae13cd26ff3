//! What is known of a reading.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use crate::yaml::{node::Node, problem::Problem, to_json::Replacements};

/// Looks at the nodes of a named newtype before they are read, such as `Quantity`.
pub(crate) type Inspect = fn(&'static str, &Node<'_>) -> Result<Option<String>, String>;

/// What becomes of fields that the type does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Each is a problem.
    Found,
    /// They are left out.
    Ignored,
}

/// What is known of this reading. Nodes are told apart by their addresses: the tree stays put.
pub(super) struct Progress {
    pub(super) inspect: Inspect,
    pub(super) unknown: Unknown,
    /// Found in this run.
    pub(super) found: RefCell<Vec<Problem>>,
    pub(super) instead: RefCell<Replacements>,
    /// Nodes that are left out, since no type came of them.
    pub(super) broken: RefCell<HashMap<usize, Problem>>,
    /// Fields that are made up, since their type must have them.
    pub(super) missing: RefCell<Vec<Missing>>,
    pub(super) gave_up: Cell<bool>,
}

pub(super) struct Missing {
    pub(super) of: usize,
    pub(super) name: &'static str,
    /// None where the node is no mapping, which is the problem then.
    pub(super) problem: Option<Problem>,
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            inspect: |_, _| Ok(None),
            unknown: Unknown::Found,
            found: RefCell::default(),
            instead: RefCell::default(),
            broken: RefCell::default(),
            missing: RefCell::default(),
            gave_up: Cell::default(),
        }
    }
}
