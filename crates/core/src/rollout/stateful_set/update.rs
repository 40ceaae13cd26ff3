//! Deletes pods outside the set's range, and pods that an update replaces.

use super::{Simulation, Strategy};
use crate::rollout::Revision;

impl Simulation<'_> {
    /// Returns whether any old pods still exist.
    ///
    /// The claims of pods outside the range stay, whatever the retention policy: later in its round than here, the
    /// controller makes a pod the owner of its claims.
    ///
    /// Kubernetes: `recreateDeleteAndWait`.
    pub(super) fn delete_old(&mut self) -> bool {
        let old = self.state.pods.iter().filter(|(_, pod)| pod.revision == Revision::Old);
        let old: Vec<_> = old.map(|(ordinal, _)| *ordinal).collect();
        for ordinal in &old {
            self.delete(*ordinal);
        }
        !old.is_empty()
    }

    /// Once all pods have the new revision, missing pods are made from it, whatever the partition. Kubernetes:
    /// `completeRollingUpdate`, since 1.37 `completeUpdate`, pkg/controller/statefulset/stateful_set_utils.go.
    pub(super) fn complete(&mut self) {
        let is_rolling = self.settings.strategy != Strategy::OnDelete;
        let is_complete = self.unavailable.is_empty() && self.outdated.is_empty();
        if is_rolling && is_complete && self.state.pods.len() == self.wanted_count() {
            self.state.is_current = true;
        }
    }

    /// Returns `true` if nothing else can be done in this round. Kubernetes: `processCondemned`.
    pub(super) fn scale_down(&mut self) -> bool {
        self.own_claims_of_condemned();
        if !self.settings.is_ordered {
            for ordinal in self.condemned.clone() {
                self.delete(ordinal);
            }
            return false;
        }
        if self.last_outside_ends().is_some() {
            return true;
        }
        let Some(last) = self.condemned.last().copied() else { return false };
        let is_available =
            self.state.pods.get(&last).is_some_and(|it| self.settings.suffices(it.health));
        if is_available || self.first_unhealthy_outside() == Some(last) {
            self.delete(last);
        }
        true
    }

    /// Returns the last pod outside the range if it is terminating.
    fn last_outside_ends(&self) -> Option<i64> {
        let is_outside = |ordinal: &&i64| !self.settings.ordinals.contains(*ordinal);
        let gone = self.terminating.keys().rfind(is_outside).copied();
        gone.filter(|gone| Some(*gone) > self.condemned.last().copied())
    }

    /// Returns the pod outside the range that holds up an ordered set.
    pub(super) fn blocking_outside(&self) -> Option<i64> {
        self.last_outside_ends().or_else(|| self.first_unhealthy_outside())
    }

    /// Unhealthy or terminating.
    fn first_unhealthy_outside(&self) -> Option<i64> {
        let is_healthy = |ordinal: &i64| {
            self.state.pods.get(ordinal).is_some_and(|pod| self.settings.is_healthy(pod.health))
        };
        let unhealthy = self.condemned.iter().find(|ordinal| !is_healthy(ordinal));
        let is_outside = |ordinal: &&i64| !self.settings.ordinals.contains(*ordinal);
        let gone = self.terminating.keys().find(is_outside);
        unhealthy.into_iter().chain(gone).min().copied()
    }

    /// All pods after the last old one must be available.
    pub(super) fn replace_next(&mut self) {
        let Some(next) = self.outdated.range(self.settings.replaced()).next_back().copied() else {
            return;
        };
        if self.unavailable.last().is_none_or(|last| *last <= next) {
            self.delete(next);
        }
    }

    /// At most `max_unavailable` pods may be unavailable. Kubernetes: `updateStatefulSetAfterInvariantEstablished`.
    pub(super) fn replace(&mut self, max_unavailable: i64) {
        let unavailable = i64::try_from(self.unavailable.len()).unwrap_or(i64::MAX);
        let budget = usize::try_from(max_unavailable - unavailable).unwrap_or(0);
        let old = self.outdated.range(self.settings.replaced()).rev().copied();
        let chosen: Vec<_> = if self.settings.unavailable_first {
            // Few pods are unavailable, so they are looked up among the old ones. The other way around, each wave would
            // look at all pods.
            let broken = self.unavailable.range(self.settings.replaced()).rev().copied();
            let broken = broken.filter(|ordinal| self.outdated.contains(ordinal));
            let good = old.filter(|ordinal| !self.unavailable.contains(ordinal));
            broken.chain(good.take(budget)).collect()
        } else {
            old.take(budget).collect()
        };
        for ordinal in chosen {
            self.delete(ordinal);
        }
    }
}
