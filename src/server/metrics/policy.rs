use super::labels::{Counters, RESULTS, from_zero, metric, result};
use crate::server::prelude::*;

#[derive(Debug)]
pub(crate) struct PolicyState {
    reloads: Counters<1>,
    is_current: Gauge,
    pub(crate) is_fallback: Gauge,
}

impl PolicyState {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let is_current = Gauge::default();
        is_current.set(1);
        PolicyState {
            reloads: metric!(registry "policy_reloads" = from_zero("result", &RESULTS),
                "Reloads of a changed policy file, by result"),
            is_current: metric!(registry "policy_last_reload_successful" = is_current,
                "1 if the policy in force is the content of its file, 0 if the last reload failed"),
            is_fallback: metric!(registry "policy_fallback" = Gauge::default(),
                "1 if the server has had no valid policy since it started, so that the rules only warn, 0 otherwise"),
        }
    }

    /// `taken` is whether the reload succeeded.
    pub(crate) fn reloaded(&self, taken: bool) {
        self.reloads.get_or_create(&result(taken)).inc();
        self.is_current.set(taken.into());
    }
}
