//! A simulation of the controller of StatefulSets.
//!
//! Kubernetes: pkg/controller/statefulset/stateful_set_control.go.

mod replicas;
mod settings;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

pub use self::settings::{Settings, Strategy, ordinals, partition, replaced};
use super::{
    Action, Course, Health, NeverReady, Revision, Step, Stop, Target, Waits,
    clock::Clock,
    waves::{self, Controller},
};

/// A pod that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The template that the pod was made from.
    pub revision: Revision,
    /// The health of the pod.
    pub health: Health,
}

/// The state from which the controller starts.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The pods, by their ordinals.
    pub pods: BTreeMap<i64, Replica>,
    /// The claims that exist.
    pub claims: BTreeSet<String>,
    /// Whether the last rollout already completed with the new template, or there was none.
    /// Otherwise pods below the partition are made from the old template.
    pub is_current: bool,
    /// The pods that lack the volume of a claim template, as after the claim templates were renamed.
    pub misfits: BTreeSet<i64>,
    /// The ordinals of missing pods whose names other pods have.
    pub taken: BTreeSet<i64>,
}

/// Simulates the controller, starting from this state.
pub fn simulate(settings: &Settings, state: State, never_ready: &NeverReady) -> Course {
    let mut simulation = Simulation::new(settings, state, never_ready);
    waves::run(&mut simulation);
    simulation.finish()
}

#[derive(Debug)]
struct Simulation<'a> {
    settings: &'a Settings,
    never_ready: &'a NeverReady,
    pods: BTreeMap<i64, Replica>,
    claims: BTreeSet<String>,
    is_current: bool,
    clock: Clock<i64>,
    /// The ordinals in the range of the set whose pods are missing, terminating or not available.
    unavailable: BTreeSet<i64>,
    /// The ordinals in the range of the set whose pods have the old revision.
    outdated: BTreeSet<i64>,
    /// The ordinals of the pods outside the range of the set, unless they are terminating.
    condemned: BTreeSet<i64>,
    /// The pods that were deleted and are not gone yet.
    terminating: BTreeSet<i64>,
    /// The pods that lack the volume of a claim template.
    misfits: BTreeSet<i64>,
    /// The ordinals whose names other pods have.
    taken: BTreeSet<i64>,
    /// The pods that exist before and after.
    lasting: BTreeSet<i64>,
    /// The number of those pods that are unavailable.
    down: usize,
    /// The pods that are available.
    serving: BTreeSet<i64>,
    /// The number of available pods that there were, or that there should be if those are fewer.
    expected: usize,
    course: Course,
}

impl Controller for Simulation<'_> {
    /// Kubernetes: `updateStatefulSet`.
    fn sync(&mut self) -> bool {
        let steps = self.course.steps.len();
        self.complete();
        if self.settings.strategy == Strategy::Recreate && self.delete_old() {
            return self.course.steps.len() > steps;
        }
        if self.keep_replicas() || self.scale_down() {
            return self.course.steps.len() > steps;
        }
        match self.settings.strategy {
            Strategy::OnDelete | Strategy::Recreate => {}
            Strategy::RollingUpdate { max_unavailable: None, .. } => self.replace_next(),
            Strategy::RollingUpdate { max_unavailable: Some(most), .. } => self.replace(most),
        }
        self.course.steps.len() > steps
    }

    fn goes_on(&mut self) -> bool {
        // Each new pod waits until all old ones are gone.
        if self.settings.strategy == Strategy::Recreate && !self.terminating.is_empty() {
            return false;
        }
        self.end_pods(|ordinals, ordinal| ordinals.contains(&ordinal));
        !self.settings.is_ordered || self.terminating.is_empty()
    }

    fn advance(&mut self) -> bool {
        if self.end_pods(|_, _| true) {
            return true;
        }
        let changes = self.clock.advance();
        for (ordinal, health) in &changes {
            if let Some(pod) = self.pods.get_mut(ordinal) {
                pod.health = *health;
                self.set_unavailable(*ordinal, !self.settings.suffices(*health));
            }
        }
        !changes.is_empty()
    }

    fn down(&self) -> usize {
        self.down.max(self.expected.saturating_sub(self.serving.len()))
    }

    fn course(&mut self) -> &mut Course {
        &mut self.course
    }
}

impl<'a> Simulation<'a> {
    fn new(settings: &'a Settings, state: State, never_ready: &'a NeverReady) -> Self {
        let wanted = |ordinal: &i64| settings.ordinals.contains(ordinal);
        let mut simulation = Simulation {
            settings,
            never_ready,
            claims: state.claims,
            is_current: state.is_current,
            clock: Clock::new(settings.min_ready_seconds),
            unavailable: BTreeSet::new(),
            outdated: BTreeSet::new(),
            condemned: state.pods.keys().copied().filter(|it| !wanted(it)).collect(),
            terminating: BTreeSet::new(),
            misfits: state.misfits.into_iter().filter(wanted).collect(),
            taken: state.taken.into_iter().filter(wanted).collect(),
            lasting: state.pods.keys().copied().filter(wanted).collect(),
            down: 0,
            serving: BTreeSet::new(),
            expected: 0,
            course: Course::default(),
            pods: BTreeMap::new(),
        };
        settings.ordinals.clone().for_each(|ordinal| simulation.set_unavailable(ordinal, true));
        for (ordinal, pod) in state.pods {
            simulation.add(ordinal, pod);
        }
        simulation.expected = simulation.serving.len().min(simulation.wanted_count());
        simulation.course.at_most_unavailable = simulation.down;
        simulation
    }

    /// Removes the terminating pods that pass the filter.
    fn end_pods(&mut self, which: impl Fn(&Range<i64>, i64) -> bool) -> bool {
        let ordinals = &self.settings.ordinals;
        let gone: Vec<_> =
            self.terminating.iter().copied().filter(|it| which(ordinals, *it)).collect();
        for ordinal in &gone {
            self.terminating.remove(ordinal);
            self.pods.remove(ordinal);
        }
        !gone.is_empty()
    }

    /// Deletes all old pods. Returns whether any of them still exist.
    ///
    /// The claims of pods outside the range stay, whatever the retention policy says: the
    /// controller makes a pod the owner of its claims later in its round than here.
    ///
    /// Kubernetes: `recreateDeleteAndWait`.
    fn delete_old(&mut self) -> bool {
        let old = self.pods.iter().filter(|(_, pod)| pod.revision == Revision::Old);
        let old: Vec<_> = old.map(|(ordinal, _)| *ordinal).collect();
        for ordinal in &old {
            if !self.terminating.contains(ordinal) {
                self.condemned.remove(ordinal);
                self.delete(*ordinal);
            }
        }
        !old.is_empty()
    }

    /// Marks the rollout as complete once all pods have the new revision. From then on, missing
    /// pods are made from it, whatever the partition.
    ///
    /// Kubernetes: `completeRollingUpdate`, since 1.37 `completeUpdate`,
    /// pkg/controller/statefulset/stateful_set_utils.go.
    fn complete(&mut self) {
        let is_rolling = self.settings.strategy != Strategy::OnDelete;
        let is_complete = self.unavailable.is_empty() && self.outdated.is_empty();
        if is_rolling && is_complete && self.pods.len() == self.wanted_count() {
            self.is_current = true;
        }
    }

    fn wanted_count(&self) -> usize {
        usize::try_from(self.settings.ordinals.end - self.settings.ordinals.start).unwrap_or(0)
    }

    /// Deletes the pods outside the range. Returns whether this is all that can be done now.
    ///
    /// Kubernetes: `processCondemned`.
    fn scale_down(&mut self) -> bool {
        if !self.settings.is_ordered {
            for ordinal in self.condemned.clone() {
                self.delete(ordinal);
            }
            return false;
        }
        if !self.terminating.is_empty() {
            return true;
        }
        let Some(last) = self.condemned.last().copied() else { return false };
        let is_available = |ordinal: &i64| {
            self.pods.get(ordinal).is_some_and(|pod| self.settings.suffices(pod.health))
        };
        let is_healthy = |ordinal: &i64| {
            self.pods.get(ordinal).is_some_and(|pod| self.settings.is_healthy(pod.health))
        };
        let first_unhealthy = self.condemned.iter().find(|it| !is_healthy(it));
        if is_available(&last) || first_unhealthy == Some(&last) {
            self.delete(last);
        }
        true
    }

    /// Replaces the last old pod, if all pods after it are available.
    fn replace_next(&mut self) {
        let Some(next) = self.outdated.range(self.settings.replaced()).next_back().copied() else {
            return;
        };
        if self.unavailable.last().is_none_or(|last| *last <= next) {
            self.delete(next);
        }
    }

    /// Replaces the last old pods, as long as no more than this number of pods is unavailable.
    ///
    /// Kubernetes: `updateStatefulSetAfterInvariantEstablished`.
    fn replace(&mut self, max_unavailable: i64) {
        let unavailable = i64::try_from(self.unavailable.len()).unwrap_or(i64::MAX);
        let budget = usize::try_from(max_unavailable - unavailable).unwrap_or(0);
        let old = self.outdated.range(self.settings.replaced()).rev().copied();
        let chosen: Vec<_> = if self.settings.unavailable_first {
            // The few that are unavailable are looked up among the old ones: the other way around takes
            // a look at all pods in each wave.
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

    /// Creates a pod. Kubernetes: `newVersionedStatefulSetPod`,
    /// pkg/controller/statefulset/stateful_set_utils.go.
    fn create(&mut self, ordinal: i64) {
        let is_below = match self.settings.strategy {
            Strategy::OnDelete | Strategy::Recreate => false,
            Strategy::RollingUpdate { .. } => ordinal < self.settings.replaced().start,
        };
        let revision = if is_below && !self.is_current { Revision::Old } else { Revision::New };
        let health = self.never_ready.start(revision, Some(ordinal));
        let claims = self.new_claims(ordinal);
        self.step(Action::Create, ordinal, revision, claims);
        self.add(ordinal, Replica { revision, health });
    }

    fn delete(&mut self, ordinal: i64) {
        let Some(pod) = self.pods.get(&ordinal).copied() else { return };
        let mut claims = Vec::new();
        if self.condemned.remove(&ordinal) && self.settings.deletes_claims {
            claims = self.settings.claims_of(ordinal).filter(|it| self.claims.remove(it)).collect();
        }
        self.clock.remove(ordinal, pod.health);
        self.outdated.remove(&ordinal);
        self.misfits.remove(&ordinal);
        self.terminating.insert(ordinal);
        self.set_unavailable(ordinal, true);
        self.step(Action::Delete, ordinal, pod.revision, claims);
    }

    fn add(&mut self, ordinal: i64, pod: Replica) {
        self.clock.add(ordinal, pod.health);
        if self.settings.ordinals.contains(&ordinal) && pod.revision == Revision::Old {
            self.outdated.insert(ordinal);
        }
        self.set_unavailable(ordinal, !self.settings.suffices(pod.health));
        self.pods.insert(ordinal, pod);
    }

    fn set_unavailable(&mut self, ordinal: i64, is_unavailable: bool) {
        if is_unavailable {
            self.serving.remove(&ordinal);
        } else {
            self.serving.insert(ordinal);
        }
        if !self.settings.ordinals.contains(&ordinal) {
            return;
        }
        let counts = self.lasting.contains(&ordinal);
        if is_unavailable {
            if self.unavailable.insert(ordinal) && counts {
                self.down += 1;
            }
        } else if self.unavailable.remove(&ordinal) && counts {
            self.down -= 1;
        }
    }

    fn step(&mut self, action: Action, ordinal: i64, revision: Revision, claims: Vec<String>) {
        let (wave, target) = (self.course.waves, Target::Ordinal(ordinal));
        self.course.steps.push(Step { wave, action, target, revision, claims });
    }

    fn finish(mut self) -> Course {
        self.course.at_least_seconds = self.clock.now;
        let remain = self.outdated.range(self.settings.replaced()).next().is_some();
        let unfinished = remain || !self.condemned.is_empty();
        let stop = |ordinal: i64, why| Stop { target: Target::Ordinal(ordinal), why };
        let first = self.unavailable.first().copied();
        let failing = self.failing().next();
        self.course.stop = match self.settings.strategy {
            _ if failing.is_some_and(|it| first.is_none_or(|first| it <= first))
                || (failing.is_some() && !self.settings.is_ordered) =>
            {
                failing.map(|it| {
                    let is_misfit = self.pods.contains_key(&it);
                    stop(it, if is_misfit { Waits::Volumes } else { Waits::Name })
                })
            }
            _ if !unfinished && self.pods.len() == self.wanted_count() => {
                first.map(|it| stop(it, Waits::ForTheLast))
            }
            _ if self.settings.is_ordered => {
                let blocking = first.or_else(|| self.condemned.first().copied());
                blocking.map(|it| stop(it, Waits::ForThisPod))
            }
            Strategy::RollingUpdate { max_unavailable: Some(_), .. } => {
                self.unavailable.last().map(|it| stop(*it, Waits::Budget))
            }
            Strategy::RollingUpdate { .. } | Strategy::OnDelete | Strategy::Recreate => {
                self.unavailable.last().map(|it| stop(*it, Waits::ForThisPod))
            }
        };
        self.course
    }
}
