//! The state of the policy: whether the policy in force is the content of its file.

use prometheus_client::{metrics::gauge::Gauge, registry::Registry};

use super::cells::{Counters, Label, RESULTS, result};

/// The metrics of the policy.
#[derive(Debug)]
pub(crate) struct PolicyState {
    reloads: Counters<1>,
    is_current: Gauge,
    is_fallback: Gauge,
}

impl PolicyState {
    pub(super) fn new() -> Self {
        let result = Label { name: "result", values: RESULTS.to_vec() };
        let is_current = Gauge::default();
        is_current.set(1);
        PolicyState { reloads: Counters::new([result]), is_current, is_fallback: Gauge::default() }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "policy_reloads",
            "Reloads of a changed policy file, by result",
            self.reloads.clone(),
        );
        registry.register(
            "policy_last_reload_successful",
            "1 if the policy in force is the content of its file, 0 if the last reload failed",
            self.is_current.clone(),
        );
        registry.register(
            "policy_fallback",
            "1 if the server has had no valid policy since it started, so that the rules only warn, \
             0 otherwise",
            self.is_fallback.clone(),
        );
    }

    /// Counts a reload; `taken` is whether it succeeded.
    pub(crate) fn reloaded(&self, taken: bool) {
        self.reloads.inc([result(taken)]);
        self.is_current.set(taken.into());
    }

    /// Sets whether the policy in force replaces a policy that cannot be used.
    pub(crate) fn set_fallback(&self, is_fallback: bool) {
        self.is_fallback.set(is_fallback.into());
    }
}
