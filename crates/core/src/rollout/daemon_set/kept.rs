//! The pods that a rollout does not touch, and the templates that pods were really made from.

use super::Simulation;
use crate::rollout::{Revision, Target};

impl Simulation<'_> {
    /// Where the controller chooses nodes at random, only the number of old pods is certain.
    pub(super) fn kept_daemons(&self) -> Vec<(Target, Revision)> {
        let (mut all, mut some) = (Vec::new(), 0);
        for (index, [old, new]) in self.kept.iter().copied().enumerate() {
            if old && self.is_candidate(index) {
                some += 1;
            } else if old {
                all.push((Target::Node(index), Revision::Old));
            }
            if new {
                all.push((Target::Node(index), self.template_of(Revision::New, index)));
            }
        }
        if let Some(candidates) = self.candidates.clone().filter(|_| some > 0) {
            all.push((Target::SomeNodes { count: some, candidates }, Revision::Old));
        }
        all
    }

    /// `revision` is the template that the pod counts as.
    pub(super) fn template_of(&self, revision: Revision, index: usize) -> Revision {
        match self.nodes.get(index) {
            Some(node) if node.new_is_stale => Revision::Old,
            Some(_) | None => revision,
        }
    }
}
