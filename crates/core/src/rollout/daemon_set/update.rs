use super::{Group, NodePods, Simulation};
use crate::rollout::{Action, Health, Revision};

impl Simulation<'_> {
    /// Kubernetes: `rollingUpdate`, without `maxSurge`.
    pub(super) fn replace(&mut self) {
        let down = [Group::Empty, Group::NewDown, Group::BothWaiting, Group::BothDone];
        let old_down = [Group::OldDown, Group::OldDownLeaving];
        let unavailable: usize = down.iter().chain(&old_down).map(|it| self.count(*it)).sum();
        // A pod counts until it has terminated.
        let unavailable = unavailable + self.leaving.len() + self.ending.len() + self.dead.len();
        let budget = self.budget.max_unavailable.saturating_sub(unavailable);
        for group in old_down {
            self.delete_on(group, Revision::Old);
        }
        for index in self.choose(Action::Delete, &[Group::Old, Group::OldLeaving], budget) {
            self.forget(index, Revision::Old);
        }
    }

    /// Kubernetes: `rollingUpdate`, with `maxSurge`.
    pub(super) fn surge(&mut self) {
        let surging = self.count(Group::BothWaiting);
        let with_available = |node: &NodePods| match (node.old, node.new) {
            (Some(health), _) | (None, Some(health)) => health == Health::Available,
            (None, None) => false,
        };
        let leaving = self.count(Group::OldLeaving);
        let available = match leaving {
            0 => 0,
            _ => self.nodes.iter().filter(|node| with_available(node)).count(),
        };
        self.delete_on(Group::OldDownLeaving, Revision::Old);
        let surplus = available.saturating_sub(self.wanted);
        for index in self.choose(Action::Delete, &[Group::OldLeaving], surplus) {
            self.forget(index, Revision::Old);
        }
        self.create_on(Group::OldDown);
        let room = self.budget.max_surge.saturating_sub(surging);
        for index in self.choose(Action::Create, &[Group::Old], room) {
            self.put(index);
        }
    }

    /// Adds the steps on at most `count` nodes of these groups, and returns the nodes. The controller goes through the
    /// nodes in random order; the simulation uses the order of the input.
    fn choose(&mut self, action: Action, groups: &[Group], count: usize) -> Vec<usize> {
        let total: usize = groups.iter().map(|group| self.count(*group)).sum();
        if count < total && count > 0 && self.candidates.is_none() {
            let mut all: Vec<_> = groups.iter().flat_map(|group| self.take(*group)).collect();
            all.sort_unstable();
            let runs = |index: &usize| self.nodes.get(*index).is_some_and(|node| node.runs);
            self.course.depends_on_chance = all.iter().any(runs) && !all.iter().all(runs);
            self.candidates = Some(all.into());
        }
        let all = groups.iter().flat_map(|group| self.set(*group)).copied();
        let chosen: Vec<_> = all.take(count).collect();
        // All nodes of a group are certain, unless the controller has chosen among them before.
        let is_random = |index: &usize| count < total || self.is_candidate(*index);
        let (some, known): (Vec<_>, Vec<_>) = chosen.iter().partition(|it| is_random(it));
        let revision = if action == Action::Create { Revision::New } else { Revision::Old };
        self.steps(action, revision, &known, false);
        self.steps(action, revision, &some, true);
        chosen
    }
}
