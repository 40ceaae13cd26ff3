//! The time of a simulation, and the pods that change on their own as it passes.

use std::collections::{BTreeMap, BTreeSet};

use super::Health;

/// `K` identifies a pod.
#[derive(Debug)]
pub(super) struct Clock<K> {
    /// In seconds from the beginning.
    pub(super) now: i64,
    min_ready: i64,
    starting: BTreeSet<K>,
    /// By the time when the pods become available.
    ready: BTreeMap<i64, BTreeSet<K>>,
}

impl<K: Ord + Copy> Clock<K> {
    pub(super) const fn new(min_ready: i64) -> Self {
        Clock { now: 0, min_ready, starting: BTreeSet::new(), ready: BTreeMap::new() }
    }

    fn changing(&mut self, health: Health) -> Option<&mut BTreeSet<K>> {
        match health {
            Health::Starting => Some(&mut self.starting),
            Health::Ready(since) => {
                let at = (since + self.min_ready).max(self.now);
                Some(self.ready.entry(at).or_default())
            }
            Health::Available | Health::Broken | Health::Ended => None,
        }
    }

    pub(super) fn add(&mut self, pod: K, health: Health) {
        self.changing(health).map(|pods| pods.insert(pod));
    }

    pub(super) fn remove(&mut self, pod: K, health: Health) {
        self.changing(health).map(|pods| pods.remove(&pod));
    }

    /// Lets time pass until the next pods change, and returns them with their new health.
    pub(super) fn advance(&mut self) -> Vec<(K, Health)> {
        if !self.starting.is_empty() {
            let pods = std::mem::take(&mut self.starting).into_iter();
            if self.min_ready == 0 {
                return pods.map(|pod| (pod, Health::Available)).collect();
            }
            let since = self.now;
            let pods: Vec<_> = pods.map(|pod| (pod, Health::Ready(since))).collect();
            for (pod, health) in &pods {
                self.add(*pod, *health);
            }
            return pods;
        }
        while let Some((at, pods)) = self.ready.pop_first() {
            if !pods.is_empty() {
                self.now = at;
                return pods.into_iter().map(|pod| (pod, Health::Available)).collect();
            }
        }
        Vec::new()
    }
}
