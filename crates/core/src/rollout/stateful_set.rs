//! A simulation of the StatefulSet controller.
//!
//! Kubernetes: pkg/controller/statefulset/stateful_set_control.go.

mod claims;
mod replicas;
mod settings;
#[cfg(test)]
mod tests;
mod update;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    ops::Range,
};

pub use self::settings::{COMPLETE, Settings, Strategy, ordinals, partition, replaced};
use super::{
    Action, Course, Health, NeverReady, Revision, Step, Stop, Target, Waits,
    clock::Clock,
    waves::{self, Controller},
};

/// An existing pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The template that the pod was made from.
    pub revision: Revision,
    /// The pod's health.
    pub health: Health,
}

/// The state that the controller starts from.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The pods by ordinal.
    pub pods: BTreeMap<i64, Replica>,
    /// The pods that are already terminating, by ordinal. They count until they end.
    pub terminating: BTreeMap<i64, Replica>,
    /// The claims that exist.
    pub claims: BTreeSet<String>,
    /// The claims that pods own, by the pods' ordinals. They are deleted with these pods.
    pub owned: BTreeMap<i64, BTreeSet<String>>,
    /// The claims that are being deleted, by the ordinals of the pods that still use them. They disappear with these
    /// pods.
    pub ending_claims: BTreeMap<i64, BTreeSet<String>>,
    /// The claims that disappear with terminating pods outside the set that have the names of its pods, by ordinal.
    pub doomed: Vec<(i64, Vec<String>)>,
    /// Whether the last rollout completed with the new template, or there was none. Otherwise pods below the partition
    /// are made from the old template.
    pub is_current: bool,
    /// The ordinals of old pods that are not of the status' `currentRevision`, as after a change during a rollout.
    pub strays: BTreeSet<i64>,
    /// The ordinals of pods without the volume of a claim template, as after a claim template was renamed.
    pub misfits: BTreeSet<i64>,
    /// The ordinals of missing pods whose names are taken by other pods.
    pub taken: BTreeSet<i64>,
    /// The ordinals of pods that wait to be started, including terminating ones. The controller creates their missing
    /// claims.
    pub pending: BTreeSet<i64>,
    /// The ordinals of pods that neither end nor become available, and why. A deletion leaves such a pod terminating.
    pub stranded: BTreeMap<i64, Waits>,
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
    /// `pods` also has those that are terminating.
    state: State,
    clock: Clock<i64>,
    /// Missing, terminating or unavailable, within the set's range.
    unavailable: BTreeSet<i64>,
    /// With the old revision, within the set's range.
    outdated: BTreeSet<i64>,
    /// Outside the set's range, and not terminating.
    condemned: BTreeSet<i64>,
    /// With the step that deleted the pod; `None` if it was already terminating.
    terminating: BTreeMap<i64, Option<usize>>,
    /// The ordinals that have a pod both before and after.
    lasting: BTreeSet<i64>,
    down: usize,
    serving: BTreeSet<i64>,
    /// The number of pods that were available, or that should be, whichever is smaller.
    expected: usize,
    /// Pods that were made from the old template since time passed.
    made_old: BTreeSet<i64>,
    /// Pods that would be made from the old template once more.
    looping: BTreeSet<i64>,
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
        // New pods wait until all old ones have terminated.
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
        if !changes.is_empty() {
            self.made_old.clear();
            self.looping.clear();
        }
        for (ordinal, health) in &changes {
            if let Some(pod) = self.state.pods.get_mut(ordinal) {
                pod.health = *health;
                self.set_unavailable(*ordinal, !self.settings.suffices(*health));
            }
        }
        !changes.is_empty()
    }

    fn down(&self) -> usize {
        self.down.max(self.expected.saturating_sub(self.serving.len()))
    }

    fn is_none_left(&self) -> bool {
        self.expected > 0 && self.serving.is_empty()
    }

    fn course(&mut self) -> &mut Course {
        &mut self.course
    }
}

impl<'a> Simulation<'a> {
    fn new(settings: &'a Settings, mut state: State, never_ready: &'a NeverReady) -> Self {
        let wanted = |ordinal: &i64| settings.ordinals.contains(ordinal);
        for of_set in [&mut state.misfits, &mut state.taken, &mut state.pending] {
            of_set.retain(wanted);
        }
        for claim in state.doomed.iter().flat_map(|(_, claims)| claims) {
            state.claims.remove(claim);
        }
        state.claims.extend(state.ending_claims.values().flatten().cloned());
        let mut simulation = Simulation {
            settings,
            never_ready,
            clock: Clock::new(settings.min_ready_seconds),
            unavailable: BTreeSet::new(),
            outdated: BTreeSet::new(),
            condemned: state.pods.keys().copied().filter(|it| !wanted(it)).collect(),
            terminating: state.terminating.keys().map(|ordinal| (*ordinal, None)).collect(),
            lasting: state.pods.keys().copied().filter(wanted).collect(),
            down: 0,
            serving: BTreeSet::new(),
            expected: 0,
            made_old: BTreeSet::new(),
            looping: BTreeSet::new(),
            course: Course { going: mem::take(&mut state.doomed), ..Course::default() },
            state,
        };
        settings.ordinals.clone().for_each(|ordinal| simulation.set_unavailable(ordinal, true));
        for (ordinal, pod) in mem::take(&mut simulation.state.pods) {
            simulation.add(ordinal, pod);
        }
        let terminating = mem::take(&mut simulation.state.terminating);
        simulation.state.pods.extend(terminating);
        simulation.expected = simulation.serving.len().min(simulation.wanted_count());
        simulation.course.at_most_unavailable = simulation.down;
        simulation
    }

    fn end_pods(&mut self, which: impl Fn(&Range<i64>, i64) -> bool) -> bool {
        let ordinals = &self.settings.ordinals;
        let gone = self.terminating.iter().map(|(ordinal, step)| (*ordinal, *step));
        let ends =
            |ordinal| which(ordinals, ordinal) && !self.state.stranded.contains_key(&ordinal);
        let gone: Vec<_> = gone.filter(|(ordinal, _)| ends(*ordinal)).collect();
        for (ordinal, step) in &gone {
            self.terminating.remove(ordinal);
            self.state.pods.remove(ordinal);
            self.state.pending.remove(ordinal);
            self.lose_claims(*ordinal, *step);
        }
        !gone.is_empty()
    }

    fn wanted_count(&self) -> usize {
        usize::try_from(self.settings.ordinals.end - self.settings.ordinals.start).unwrap_or(0)
    }

    fn create(&mut self, ordinal: i64) {
        let is_old =
            |it: &&i64| self.state.pods.get(it).is_some_and(|pod| pod.revision == Revision::Old);
        // The strays are among them. A count of all of them for each pod would be quadratic.
        let old = self.outdated.len() + self.condemned.iter().filter(is_old).count();
        let others = old.saturating_sub(self.state.strays.len());
        let mut is_old = !self.state.is_current && self.settings.creates_old(ordinal, others);
        if is_old && !self.made_old.insert(ordinal) {
            // The round that made and deleted the pod wrote a status with one pod less.
            is_old = self.settings.creates_old(ordinal, others.saturating_sub(1));
            if is_old {
                self.looping.insert(ordinal);
                return;
            }
        }
        let revision = if is_old { Revision::Old } else { Revision::New };
        let health = self.never_ready.start(revision, Some(ordinal));
        let claims = self.new_claims(ordinal);
        self.step(Action::Create, ordinal, revision, claims);
        self.add(ordinal, Replica { revision, health });
    }

    fn delete(&mut self, ordinal: i64) {
        let Some(pod) = self.state.pods.get(&ordinal).copied() else { return };
        if self.terminating.contains_key(&ordinal) {
            return;
        }
        self.clock.remove(ordinal, pod.health);
        self.condemned.remove(&ordinal);
        self.outdated.remove(&ordinal);
        self.state.strays.remove(&ordinal);
        self.state.misfits.remove(&ordinal);
        self.state.pending.remove(&ordinal);
        self.terminating.insert(ordinal, Some(self.course.steps.len()));
        self.set_unavailable(ordinal, true);
        self.step(Action::Delete, ordinal, pod.revision, Vec::new());
    }

    fn add(&mut self, ordinal: i64, pod: Replica) {
        self.clock.add(ordinal, pod.health);
        if self.settings.ordinals.contains(&ordinal) && pod.revision == Revision::Old {
            self.outdated.insert(ordinal);
        }
        self.set_unavailable(ordinal, !self.settings.suffices(pod.health));
        self.state.pods.insert(ordinal, pod);
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
        let stop = |ordinal: i64, why| Stop::new(Target::Ordinal(ordinal), why);
        let first = self.unavailable.first().copied();
        let exists = |ordinal| self.state.pods.contains_key(&ordinal);
        let failing = self.failing().next();
        self.course.stop = match self.settings.strategy {
            _ if !self.looping.is_empty() => {
                self.looping.first().map(|it| stop(*it, Waits::Endlessly))
            }
            _ if failing.is_some_and(|it| first.is_none_or(|first| it <= first))
                || (failing.is_some() && !self.settings.is_ordered) =>
            {
                failing.map(|it| {
                    let is_misfit = self.state.pods.contains_key(&it);
                    stop(it, if is_misfit { Waits::Volumes } else { Waits::Name })
                })
            }
            _ if !unfinished && self.settings.ordinals.clone().all(exists) => {
                first.map(|it| stop(it, Waits::ForTheLast))
            }
            _ if self.settings.is_ordered => {
                let outside = || self.blocking_outside().filter(|_| unfinished);
                let blocking = first.or_else(outside);
                blocking.map(|it| stop(it, Waits::ForThisPod))
            }
            Strategy::RollingUpdate { max_unavailable: Some(most), .. } => {
                // So many are enough to stop it.
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let mut all = self.unavailable.iter().rev().copied().take(most);
                let last = all.next();
                last.map(|it| Stop { others: all.collect(), ..stop(it, Waits::Budget) })
            }
            Strategy::RollingUpdate { .. } | Strategy::OnDelete | Strategy::Recreate => {
                self.unavailable.last().map(|it| stop(*it, Waits::ForThisPod))
            }
        };
        // Nothing waits for a pod outside the range that was already terminating.
        let stays = |(it, step): (&i64, &Option<usize>)| {
            Some(stop(*it, *step.and(self.state.stranded.get(it))?))
        };
        self.course.stop =
            self.course.stop.take().or_else(|| self.terminating.iter().find_map(stays));
        if let Some(Stop { target: Target::Ordinal(ordinal), why, .. }) = &mut self.course.stop
            && let Some(stranded) = self.state.stranded.get(ordinal)
            && !matches!(why, Waits::Volumes | Waits::Name)
        {
            *why = *stranded;
        }
        // Pods that do not end now still take their claims with them when they do.
        for (ordinal, step) in mem::take(&mut self.terminating) {
            self.lose_claims(ordinal, step);
        }
        self.course
    }
}
