//! The pods within the set's range.

use std::ops::Range;

use super::Simulation;
use crate::rollout::Health;

/// The most parallel pods that the controller handles at once.
const MAX_BATCH_SIZE: i64 = 500;

impl Simulation<'_> {
    /// Returns `true` if nothing else can be done in this round. Kubernetes: `processReplica`.
    pub(super) fn keep_replicas(&mut self) -> bool {
        if self.settings.is_ordered {
            let first = self.unavailable.first().copied();
            let failing = self.failing().next().filter(|it| first.is_none_or(|first| *it <= first));
            self.take_claims(failing);
            match (failing, first) {
                (Some(ordinal), _) => self.try_volumes(ordinal),
                (None, Some(first)) => self.keep_replica(first),
                (None, None) => return false,
            }
            return true;
        }
        let failing: Vec<_> = self.failing().collect();
        let end = failing.first().map(|it| batch_end(&self.settings.ordinals, *it));
        let is_tried = |ordinal: &i64| end.is_none_or(|end| *ordinal < end);
        self.take_claims(end);
        for ordinal in failing.into_iter().filter(is_tried) {
            self.try_volumes(ordinal);
        }
        for ordinal in self.unavailable.clone().into_iter().filter(is_tried) {
            self.keep_replica(ordinal);
        }
        end.is_some()
    }

    /// The ordinals that make a round of the controller fail. An ordered set looks at a pod's volumes only once the pod
    /// is available.
    pub(super) fn failing(&self) -> impl Iterator<Item = i64> {
        let is_tried = |ordinal: &i64| match self.state.pods.get(ordinal) {
            None => self.state.taken.contains(ordinal),
            Some(pod) if pod.health == Health::Ended => false,
            Some(_) if self.settings.is_ordered && self.unavailable.contains(ordinal) => false,
            Some(_) => self.state.misfits.contains(ordinal),
        };
        self.state.misfits.union(&self.state.taken).copied().filter(is_tried)
    }

    /// Creates the pod's missing claims. The API server then refuses to add their volumes to the pod. Kubernetes:
    /// `UpdateStatefulPod`, pkg/controller/statefulset/stateful_pod_control.go.
    fn try_volumes(&mut self, ordinal: i64) {
        let claims = self.new_claims(ordinal);
        if !claims.is_empty() {
            self.course.unused_claims.push((ordinal, claims));
        }
    }

    pub(super) fn new_claims(&mut self, ordinal: i64) -> Vec<String> {
        let claims = self.settings.claims_of(ordinal).filter(|it| !self.state.claims.contains(it));
        let claims: Vec<_> = claims.collect();
        self.state.claims.extend(claims.iter().cloned());
        claims
    }

    fn keep_replica(&mut self, ordinal: i64) {
        match self.state.pods.get(&ordinal) {
            None if self.state.taken.contains(&ordinal) => {}
            None => self.create(ordinal),
            Some(pod) if pod.health == Health::Ended => self.delete(ordinal),
            Some(_) if self.state.pending.remove(&ordinal) => self.refill(ordinal),
            Some(_) => {}
        }
    }

    /// For a pod that waits to be started. Kubernetes: `createMissingPersistentVolumeClaims`,
    /// pkg/controller/statefulset/stateful_pod_control.go.
    fn refill(&mut self, ordinal: i64) {
        let claims = self.new_claims(ordinal);
        if !claims.is_empty() {
            self.course.missing_claims.push((ordinal, claims));
        }
    }
}

/// The controller handles one parallel pod, then two at once, then four, and so on, and stops after a batch with a
/// failure. Kubernetes: `slowStartBatch`, pkg/controller/statefulset/stateful_set_control.go.
fn batch_end(ordinals: &Range<i64>, ordinal: i64) -> i64 {
    let (mut end, mut size) = (ordinals.start, 1);
    while end <= ordinal {
        end += size;
        size = (2 * size).min(MAX_BATCH_SIZE);
    }
    end
}
