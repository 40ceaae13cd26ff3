//! The cases, each in a namespace of its own.

mod denials;
mod doors;
mod edits;
mod injection;
mod managed;
mod outage;
mod warnings;

use crate::namespace::Namespace;

/// One case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Its name and that of its namespace.
    pub(crate) name: &'static str,
    /// What it does before the webhooks are registered.
    pub(crate) before: Option<fn(&Namespace<'_>)>,
    /// A program without which it is skipped.
    pub(crate) needs: Option<&'static str>,
    /// What it does then.
    pub(crate) run: fn(&Namespace<'_>),
}

impl Case {
    const fn new(name: &'static str, run: fn(&Namespace<'_>)) -> Self {
        Case { name, before: None, needs: None, run }
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    [
        denials::CASES,
        doors::CASES,
        edits::CASES,
        injection::CASES,
        managed::CASES,
        outage::CASES,
        warnings::CASES,
    ]
    .concat()
}
