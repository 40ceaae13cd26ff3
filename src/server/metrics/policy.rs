use prometheus_client::{metrics::gauge::Gauge, registry::Registry};

use super::labels::{Counters, RESULTS, add, from_zero, result};

#[derive(Debug)]
pub(crate) struct PolicyState {
    reloads: Counters<1>,
    is_current: Gauge,
    is_fallback: Gauge,
}

impl PolicyState {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let is_current = Gauge::default();
        is_current.set(1);
        PolicyState {
            reloads: add(
                registry,
                "policy_reloads",
                "Reloads of a changed policy file, by result",
                from_zero("result", &RESULTS),
            ),
            is_current: add(
                registry,
                "policy_last_reload_successful",
                "1 if the policy in force is the content of its file, 0 if the last reload failed",
                is_current,
            ),
            is_fallback: add(
                registry,
                "policy_fallback",
                "1 if the server has had no valid policy since it started, so that the rules only warn, \
                 0 otherwise",
                Gauge::default(),
            ),
        }
    }

    /// `taken` is whether the reload succeeded.
    pub(crate) fn reloaded(&self, taken: bool) {
        self.reloads.get_or_create(&result(taken)).inc();
        self.is_current.set(taken.into());
    }

    pub(crate) fn set_fallback(&self, is_fallback: bool) {
        self.is_fallback.set(is_fallback.into());
    }
}
