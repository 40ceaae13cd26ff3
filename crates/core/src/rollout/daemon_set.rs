//! A simulation of the DaemonSet controller.
//!
//! Kubernetes: pkg/controller/daemon/{daemon_controller,update}.go.

mod kept;
mod settings;
#[cfg(test)]
mod tests;
mod update;

use std::{collections::BTreeSet, iter, mem, rc::Rc};

pub use self::settings::{RolloutBudget, Settings, surges};
use super::{
    Action, Course, Health, NeverReady, Revision, Step, Stop, Target, Waits,
    clock::Clock,
    waves::{self, Controller},
};

/// The DaemonSet's pods on a node, and whether the node should have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePods {
    /// Whether the node should get a pod.
    pub runs: bool,
    /// Whether the node may keep an existing pod.
    pub keeps: bool,
    /// The pod with the old template.
    pub old: Option<Health>,
    /// The pod with the new template.
    pub new: Option<Health>,
    /// Whether the pod with the new template is the older one, as after a rollback.
    pub new_is_older: bool,
    /// Whether the pod that counts as new was made from an old template. It has the new generation number, as after the
    /// set was deleted without its pods and created again.
    pub new_is_stale: bool,
    /// The number of further pods with old templates, as after a change during a rollout with `maxSurge`. They are
    /// younger than the other pod, or have terminated for good.
    pub excess: usize,
    /// The number of further pods with the new template. Pods that only count as new are in `excess`.
    pub excess_new: usize,
    /// Whether a pod is terminating. Until it ends, a node without any other pod counts as unavailable.
    pub is_ending: bool,
    /// Whether the terminating pod does not end.
    pub never_ends: bool,
    /// Whether the node is down: a pod on it neither ends nor becomes ready.
    pub is_dead: bool,
}

impl NodePods {
    /// Returns whether the node has a pod that is not terminating.
    pub const fn has_pods(&self) -> bool {
        self.old.is_some() || self.new.is_some() || self.excess + self.excess_new > 0
    }

    fn serves(&self) -> bool {
        let is_up = |health| health == Some(Health::Available);
        is_up(self.old) || is_up(self.new)
    }
}

/// Simulates the controller, starting from these nodes.
pub fn simulate(settings: &Settings, nodes: Vec<NodePods>, never_ready: &NeverReady) -> Course {
    let mut simulation = Simulation::new(settings, nodes, never_ready);
    waves::run(&mut simulation);
    simulation.finish()
}

/// By what the controller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// The node should have a pod and has none.
    Empty,
    /// The node has pods and must not.
    Forbidden,
    /// An available old pod on a node that should have a pod.
    Old,
    /// Like `Old`, on a node that gets no new pod.
    OldLeaving,
    /// An unavailable old pod.
    OldDown,
    /// Like `OldDown`, on a node that gets no new pod.
    OldDownLeaving,
    /// An unavailable new pod.
    NewDown,
    /// An old pod and an unavailable new one.
    BothWaiting,
    /// An old and a new pod; the old one can be deleted.
    BothDone,
    Settled,
}

const GROUPS: usize = 10;

#[derive(Debug)]
struct Simulation<'a> {
    settings: &'a Settings,
    surges: bool,
    budget: RolloutBudget,
    wanted: usize,
    never_ready: &'a NeverReady,
    nodes: Vec<NodePods>,
    groups: [BTreeSet<usize>; GROUPS],
    /// Nodes that get no new pod and whose deleted pods are still terminating.
    leaving: BTreeSet<usize>,
    /// Nodes that get a new pod once a pod that was already terminating ends.
    ending: BTreeSet<usize>,
    /// Nodes that have only pods that are terminating and do not end.
    dead: BTreeSet<usize>,
    clock: Clock<(usize, Revision)>,
    /// One entry for each excess pod: old pods, then new ones.
    excess: [Vec<usize>; 2],
    /// The controller has begun to choose from these nodes at random.
    candidates: Option<Rc<[usize]>>,
    /// By node: whether the old and the new pod that it started with still exist.
    kept: Vec<[bool; 2]>,
    /// By node: whether it had a pod. If it gets no new one, it stays down.
    had_pod: Vec<bool>,
    down: usize,
    /// Nodes with an available pod.
    serving: usize,
    /// The number of nodes that had an available pod, or that should have one, whichever is smaller.
    expected: usize,
    course: Course,
}

impl Controller for Simulation<'_> {
    /// Kubernetes: `updateDaemonSet`. The controller waits until it has seen its creations and deletions before it
    /// continues the rolling update.
    fn sync(&mut self) -> bool {
        let steps = self.course.steps.len();
        self.manage();
        if self.course.steps.len() == steps && !self.settings.is_on_delete() {
            if self.budget.max_surge == 0 { self.replace() } else { self.surge() }
        }
        if self.course.steps.len() == steps && !self.ending.is_empty() {
            self.end_pods();
            self.manage();
        }
        self.course.steps.len() > steps
    }

    fn advance(&mut self) -> bool {
        if !self.leaving.is_empty() {
            self.leaving.clear();
            return true;
        }
        let changes = self.clock.advance();
        for ((index, revision), health) in &changes {
            self.change(*index, |node| match revision {
                Revision::Old => node.old = Some(*health),
                Revision::New => node.new = Some(*health),
            });
        }
        !changes.is_empty()
    }

    fn down(&self) -> usize {
        self.down.max(self.expected.saturating_sub(self.serving))
    }

    fn is_none_left(&self) -> bool {
        self.expected > 0 && self.serving == 0
    }

    fn course(&mut self) -> &mut Course {
        &mut self.course
    }
}

impl<'a> Simulation<'a> {
    fn new(settings: &'a Settings, mut nodes: Vec<NodePods>, never_ready: &'a NeverReady) -> Self {
        let wanted = nodes.iter().filter(|node| node.runs).count();
        nodes.iter_mut().for_each(|node| node.is_ending &= !node.has_pods());
        let stays = |node: &NodePods| node.is_dead || node.never_ends;
        let ending_on = |is_there: &dyn Fn(&NodePods) -> bool| -> BTreeSet<usize> {
            let nodes = (0..).zip(&nodes).filter(|(_, node)| node.is_ending && is_there(node));
            nodes.map(|(index, _)| index).collect()
        };
        let mut simulation = Simulation {
            settings,
            surges: settings.surges(),
            budget: settings.budget(wanted),
            wanted,
            never_ready,
            groups: Default::default(),
            leaving: ending_on(&|node| !node.runs && !stays(node)),
            ending: ending_on(&|node| node.runs && !stays(node)),
            dead: ending_on(&stays),
            clock: Clock::new(settings.min_ready_seconds),
            excess: [|it: &NodePods| it.excess, |it: &NodePods| it.excess_new].map(|count| {
                let nodes = nodes.iter().enumerate();
                nodes.flat_map(|(index, it)| iter::repeat_n(index, count(it))).collect()
            }),
            candidates: None,
            kept: nodes.iter().map(|it| [it.old.is_some(), it.new.is_some()]).collect(),
            had_pod: nodes.iter().map(NodePods::has_pods).collect(),
            down: 0,
            serving: 0,
            expected: nodes.iter().filter(|node| node.serves()).count().min(wanted),
            course: Course::default(),
            nodes,
        };
        for index in 0..simulation.nodes.len() {
            if let Some(node) = simulation.nodes.get(index).copied() {
                for (health, revision) in [(node.old, Revision::Old), (node.new, Revision::New)] {
                    if let Some(health) = health {
                        simulation.clock.add((index, revision), health);
                    }
                }
                simulation.down += usize::from(simulation.is_down(index));
                simulation.serving += usize::from(node.serves());
                simulation.group_mut(simulation.group_of(node)).insert(index);
            }
        }
        simulation.course.at_most_unavailable = simulation.down;
        simulation
    }

    /// If the controller had nothing to do until now, the other terminating pods have ended too.
    fn end_pods(&mut self) {
        if self.course.steps.is_empty() {
            self.leaving.clear();
        }
        for index in mem::take(&mut self.ending) {
            self.change(index, |node| node.is_ending = false);
        }
    }

    /// Kubernetes: `manage` and `podsShouldBeOnNode`.
    fn manage(&mut self) {
        self.create_on(Group::Empty);
        let [old, new] = mem::take(&mut self.excess);
        self.steps(Action::Delete, Revision::Old, &old, false);
        self.steps(Action::Delete, Revision::New, &new, false);
        for index in self.take(Group::Forbidden) {
            self.delete(index, Revision::Old);
            self.delete(index, Revision::New);
        }
        if self.surges {
            self.delete_on(Group::BothDone, Revision::Old);
        } else {
            for index in [self.take(Group::BothDone), self.take(Group::BothWaiting)].concat() {
                // The controller keeps the older pod.
                let keeps_new = self.nodes.get(index).is_some_and(|node| node.new_is_older);
                self.delete(index, if keeps_new { Revision::Old } else { Revision::New });
            }
        }
    }

    fn create_on(&mut self, group: Group) {
        let (some, known): (Vec<_>, Vec<_>) =
            self.take(group).into_iter().partition(|index| self.is_candidate(*index));
        self.steps(Action::Create, Revision::New, &known, false);
        self.steps(Action::Create, Revision::New, &some, true);
        known.into_iter().chain(some).for_each(|index| self.put(index));
    }

    fn delete_on(&mut self, group: Group, revision: Revision) {
        let (some, known): (Vec<_>, Vec<_>) =
            self.take(group).into_iter().partition(|index| self.is_candidate(*index));
        self.steps(Action::Delete, revision, &known, false);
        self.steps(Action::Delete, revision, &some, true);
        known.into_iter().chain(some).for_each(|index| self.forget(index, revision));
    }

    fn is_candidate(&self, index: usize) -> bool {
        self.candidates.as_ref().is_some_and(|all| all.binary_search(&index).is_ok())
    }

    fn steps(&mut self, action: Action, revision: Revision, nodes: &[usize], is_random: bool) {
        let wave = self.course.waves;
        let candidates = self.candidates.clone().filter(|_| is_random);
        let step = |target| Step { wave, action, target, revision, claims: Vec::new() };
        match candidates {
            Some(candidates) if !nodes.is_empty() => {
                let target = Target::SomeNodes { count: nodes.len(), candidates };
                self.course.steps.push(step(target));
            }
            _ => self.course.steps.extend(nodes.iter().map(|it| step(Target::Node(*it)))),
        }
    }

    fn delete(&mut self, index: usize, revision: Revision) {
        let has = self.nodes.get(index).is_some_and(|node| match revision {
            Revision::Old => node.old.is_some(),
            Revision::New => node.new.is_some(),
        });
        if has {
            self.steps(Action::Delete, self.template_of(revision, index), &[index], false);
            self.forget(index, revision);
        }
    }

    fn put(&mut self, index: usize) {
        let is_blocked =
            |node: &NodePods| node.is_dead || node.old.is_some() && self.settings.old_holds_port;
        let health = match self.nodes.get(index).is_some_and(is_blocked) {
            true => Health::Broken,
            false => self.never_ready.start(Revision::New, None),
        };
        self.change(index, |node| {
            node.new = Some(health);
            node.new_is_stale = false;
        });
        self.clock.add((index, Revision::New), health);
    }

    fn forget(&mut self, index: usize, revision: Revision) {
        let mut gone = None;
        self.change(index, |node| {
            gone = match revision {
                Revision::Old => node.old.take(),
                Revision::New => node.new.take(),
            };
        });
        if let Some(health) = gone {
            self.clock.remove((index, revision), health);
        }
        if let Some(kept) = self.kept.get_mut(index) {
            kept[revision as usize] = false;
        }
        let Some(node) = self.nodes.get(index).filter(|it| it.old.is_none() && it.new.is_none())
        else {
            return;
        };
        if node.is_dead {
            self.dead.insert(index);
            self.change(index, |node| node.is_ending = true);
        } else if !node.runs {
            self.leaving.insert(index);
        }
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut NodePods)) {
        let Some(before) = self.nodes.get(index).copied() else { return };
        self.down -= usize::from(self.is_down(index));
        self.group_mut(self.group_of(before)).remove(&index);
        let mut after = before;
        change(&mut after);
        if let Some(node) = self.nodes.get_mut(index) {
            *node = after;
        }
        self.group_mut(self.group_of(after)).insert(index);
        self.down += usize::from(self.is_down(index));
        self.serving = self.serving + usize::from(after.serves()) - usize::from(before.serves());
    }

    fn is_down(&self, index: usize) -> bool {
        self.had_pod.get(index) == Some(&true)
            && self.nodes.get(index).is_some_and(|node| !node.serves())
    }

    fn group_of(&self, node: NodePods) -> Group {
        let is_up = |health| health == Health::Available;
        let is_ready = |health| matches!(health, Health::Available | Health::Ready(_));
        if !node.keeps && (node.old.is_some() || node.new.is_some()) {
            return Group::Forbidden;
        }
        match (node.old, node.new) {
            (None, None) if node.runs && !node.is_ending => Group::Empty,
            (None, None) => Group::Settled,
            (Some(old), None) => match (is_up(old), node.runs) {
                (true, true) => Group::Old,
                (true, false) => Group::OldLeaving,
                (false, true) => Group::OldDown,
                (false, false) => Group::OldDownLeaving,
            },
            (None, Some(new)) if is_up(new) => Group::Settled,
            (None, Some(_)) => Group::NewDown,
            (Some(old), Some(new)) if !is_ready(old) || is_up(new) => Group::BothDone,
            (Some(_), Some(_)) => Group::BothWaiting,
        }
    }

    const fn group_mut(&mut self, group: Group) -> &mut BTreeSet<usize> {
        &mut self.groups[group as usize]
    }

    const fn set(&self, group: Group) -> &BTreeSet<usize> {
        &self.groups[group as usize]
    }

    fn count(&self, group: Group) -> usize {
        self.set(group).len()
    }

    fn take(&self, group: Group) -> Vec<usize> {
        self.set(group).iter().copied().collect()
    }

    fn finish(mut self) -> Course {
        self.course.at_least_seconds = self.clock.now;
        self.course.kept_daemons = self.kept_daemons();
        let left = [Group::Old, Group::OldDown, Group::OldLeaving, Group::OldDownLeaving];
        let unfinished =
            !self.settings.is_on_delete() && left.into_iter().any(|group| self.count(group) > 0);
        let blocking = [Group::BothWaiting, Group::NewDown];
        let blocking = blocking.into_iter().find_map(|it| self.set(it).first().copied());
        let is_wanted = |index: &&usize| self.nodes.get(**index).is_some_and(|node| node.runs);
        let is_dead = |index: &&usize| self.nodes.get(**index).is_some_and(|node| node.is_dead);
        let mut dead = self.dead.iter().filter(|it| unfinished && !self.surges || is_wanted(it));
        let broken = blocking.as_ref().filter(is_dead);
        if let Some(index) = dead.next().or(broken).copied() {
            let why = if is_dead(&&index) { Waits::Node } else { Waits::Deletion };
            self.course.stop = Some(Stop::new(Target::Node(index), why));
            return self.course;
        }
        let has_old = |index: usize| self.nodes.get(index).is_some_and(|node| node.old.is_some());
        let why = match unfinished {
            _ if self.settings.old_holds_port && blocking.is_some_and(has_old) => Waits::Port,
            true => Waits::Budget,
            false => Waits::ForTheLast,
        };
        let is_random = blocking.is_some_and(|index| self.is_candidate(index));
        self.course.stop = blocking.map(|index| {
            let target = match self.candidates.clone().filter(|_| is_random) {
                Some(candidates) => Target::SomeNodes { count: 1, candidates },
                None => Target::Node(index),
            };
            Stop::new(target, why)
        });
        self.course
    }
}
