//! The cases, each in a namespace of its own.

mod chart;
mod denials;
mod doors;
mod edits;
mod injection;
mod managed;
mod nodes;
mod outage;
mod pairing;
mod reinvocation;
mod warnings;

use crate::namespace::Namespace;

/// The one program that cases need from elsewhere than the control plane's folder.
pub(crate) const HELM: &str = "helm";

/// One case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Its name and that of its namespace.
    pub(crate) name: &'static str,
    /// What it does before the webhooks are registered.
    pub(crate) before: Option<fn(&Namespace<'_>)>,
    /// Programs without which it is skipped.
    pub(crate) needs: &'static [&'static str],
    /// What it does then.
    pub(crate) run: fn(&Namespace<'_>),
}

impl Case {
    const fn new(name: &'static str, run: fn(&Namespace<'_>)) -> Self {
        Case { name, before: None, needs: &[], run }
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    [
        chart::CASES,
        denials::CASES,
        doors::CASES,
        edits::CASES,
        injection::CASES,
        managed::CASES,
        nodes::CASES,
        outage::CASES,
        pairing::CASES,
        reinvocation::CASES,
        warnings::CASES,
    ]
    .concat()
}
