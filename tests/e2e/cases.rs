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
    macro_rules! all {
        ($($module:ident)*) => { [$($module::CASES),*].concat() };
    }
    all! {
        audit chart conditions consequences denials diff parity edits guides injection managed
        nodes outage pairing policies reinvocation view rollouts status warnings writers
    }
}
