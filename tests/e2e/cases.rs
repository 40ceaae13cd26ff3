//! The test cases. Each has its own namespace.

mod audit;
mod chart;
mod conditions;
mod consequences;
mod denials;
mod diff;
mod edits;
mod guides;
mod injection;
mod managed;
mod nodes;
mod outage;
mod pairing;
mod parity;
mod policies;
mod reinvocation;
mod rollouts;
mod status;
mod view;
mod warnings;
mod writers;

use crate::Namespace;

/// The only required program outside of the folder with the control plane's binaries.
pub(crate) const HELM: &str = "helm";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// A step before the registration of the webhooks.
    pub(crate) before: Option<fn(&Namespace<'_>)>,
    /// The required programs; without one, the case is skipped.
    pub(crate) needs: &'static [&'static str],
    /// The test, after the registration of the webhooks.
    pub(crate) run: fn(&Namespace<'_>),
}

impl Case {
    const fn new(name: &'static str, run: fn(&Namespace<'_>)) -> Self {
        Case::needing(&[], name, run)
    }

    const fn needing(
        needs: &'static [&'static str],
        name: &'static str,
        run: fn(&Namespace<'_>),
    ) -> Self {
        Case { name, before: None, needs, run }
    }
}

pub(crate) fn all() -> Vec<Case> {
    [
        audit::CASES,
        chart::CASES,
        conditions::CASES,
        consequences::CASES,
        denials::CASES,
        diff::CASES,
        parity::CASES,
        edits::CASES,
        guides::CASES,
        injection::CASES,
        managed::CASES,
        nodes::CASES,
        outage::CASES,
        pairing::CASES,
        policies::CASES,
        reinvocation::CASES,
        view::CASES,
        rollouts::CASES,
        status::CASES,
        warnings::CASES,
        writers::CASES,
    ]
    .concat()
}
