//! The claims that pods own: they are deleted with these pods.
//!
//! When the controller gets to a pod, it makes the pod the owner of its claims if the pod is outside the set's range
//! and `whenScaled` is `Delete`; otherwise it removes this ownership. The garbage collector deletes the claims of a
//! terminated pod. A claim that is already being deleted disappears with the pod that uses it.

use super::Simulation;
use crate::rollout::Health;

impl Simulation<'_> {
    /// An ordered set ends its round at the first unavailable pod, but still handles the claims of this pod if it waits
    /// to be started. `end` is the first ordinal that the controller does not try.
    ///
    /// Kubernetes: `ClaimsMatchRetentionPolicy` and `createMissingPersistentVolumeClaims` in `processReplica`.
    pub(super) fn take_claims(&mut self, end: Option<i64>) {
        if self.state.owned.is_empty() {
            return;
        }
        let first = self.unavailable.first().copied().filter(|_| self.settings.is_ordered);
        let first = first.map(|it| if self.state.pending.contains(&it) { it + 1 } else { it });
        let end = end.into_iter().chain(first).min().unwrap_or(i64::MAX);
        let is_reached = |ordinal: &i64| {
            let pod = self.state.pods.get(ordinal);
            let has_ended = pod.is_some_and(|pod| pod.health == Health::Ended);
            self.settings.ordinals.contains(ordinal) && *ordinal < end && !has_ended
        };
        let reached: Vec<_> = self.state.owned.keys().copied().filter(is_reached).collect();
        for ordinal in reached {
            self.disown(ordinal);
        }
    }

    /// For the pods outside the range, as the retention policy requires. Kubernetes: `fixPodClaim` in
    /// `updateStatefulSet`.
    pub(super) fn own_claims_of_condemned(&mut self) {
        let gone = self.terminating.keys().filter(|it| !self.settings.ordinals.contains(it));
        let outside: Vec<_> = self.condemned.iter().chain(gone).copied().collect();
        for ordinal in outside {
            if self.settings.deletes_claims {
                let claims = self.settings.claims_of(ordinal);
                let claims: Vec<_> =
                    claims.filter(|claim| self.state.claims.contains(claim)).collect();
                if !claims.is_empty() {
                    self.state.owned.entry(ordinal).or_default().extend(claims);
                }
            } else {
                self.disown(ordinal);
            }
        }
    }

    fn disown(&mut self, ordinal: i64) {
        if let Some(owned) = self.state.owned.get_mut(&ordinal) {
            for claim in self.settings.claims_of(ordinal) {
                owned.remove(&claim);
            }
            if owned.is_empty() {
                self.state.owned.remove(&ordinal);
            }
        }
    }

    /// Deletes the claims that a terminated pod owned, and the claims that it alone kept from deletion. `step` deleted
    /// the pod.
    pub(super) fn lose_claims(&mut self, ordinal: i64, step: Option<usize>) {
        let mut lost = self.state.owned.remove(&ordinal).unwrap_or_default();
        lost.append(&mut self.state.ending_claims.remove(&ordinal).unwrap_or_default());
        if lost.is_empty() {
            return;
        }
        for claim in &lost {
            self.state.claims.remove(claim);
        }
        match step.and_then(|step| self.course.steps.get_mut(step)) {
            Some(step) => step.claims.extend(lost),
            None => self.course.going.push((ordinal, lost.into_iter().collect())),
        }
    }
}
