//! The consequences of a change for a DaemonSet.

mod nodes;

use std::rc::Rc;

use self::nodes::DaemonNode;
use super::{
    Forecaster, Simulated, Transition,
    known::{adopted, estimate},
};
use crate::{
    object::DaemonSetSpec,
    plan::forecast::{Kept, OfKind, Rollout},
    rollout::{
        Action, Course, NeverReady, Revision, Target,
        daemon_set::{NodePods, Settings, simulate},
    },
};

impl Forecaster<'_> {
    /// Simulates the rollout of a DaemonSet.
    pub(super) fn daemon_set(
        &self,
        spec: &DaemonSetSpec,
        transition: &Transition<'_>,
    ) -> Simulated {
        let settings = Settings::of(spec);
        let world = &self.input.world;
        let Some(nodes) = &world.nodes else {
            let note = "which nodes it runs on cannot be said without them: give --nodes";
            return Simulated { settings: describe(&settings, None), ..Simulated::none(note) };
        };
        let all_new = self.never_ready.iter().any(|pod| pod == "new");
        let never_ready = NeverReady { all_new, ..NeverReady::default() };
        let nodes = self.daemon_nodes(nodes, spec, transition, &never_ready);
        let pods: Vec<_> = nodes.iter().map(|node| node.pods).collect();
        let wanted = pods.iter().filter(|node| node.runs).count();
        let course = simulate(&settings, pods.clone(), &never_ready);
        let set = transition.set();
        let mut notes: Vec<_> = adopted(world, &set).into_iter().collect();
        if course.depends_on_chance {
            let note = "the controller chooses the nodes of a wave at random, and not all of them \
                        get a new pod: the waves below are one possible course";
            notes.push(note.to_owned());
        }
        let kept = kept(&course, &pods);
        let keeps_old = kept.iter().any(|it| it.revision == Revision::Old);
        let works = course.stop.is_none() && !course.steps.is_empty();
        let if_broken =
            works.then(|| simulate(&settings, pods, &NeverReady::all_new()).stop).flatten();
        let rollout = Rollout {
            kept,
            why_kept: keeps_old.then(|| why_kept(&settings).to_owned()),
            if_broken,
            undo: world.undo(&set, &spec.template, settings.min_ready_seconds),
            estimate: estimate(&world.times_to_ready(&set), &course),
            over_budgets: self.over_budgets(transition, &course),
            of_kind: OfKind::DaemonSet {
                nodes: nodes.into_iter().map(DaemonNode::outlook).collect(),
            },
            course,
        };
        let settings = describe(&settings, Some(wanted));
        Simulated { settings, notes, rollout: Some(rollout) }
    }
}

/// Returns the pods that are left alone.
fn kept(course: &Course, nodes: &[NodePods]) -> Vec<Kept> {
    let mut moved = vec![false; nodes.len()];
    let mut some: Option<(usize, Rc<[usize]>)> = None;
    for step in &course.steps {
        let nodes = match &step.target {
            Target::Node(index) => std::slice::from_ref(index),
            Target::SomeNodes { count, candidates } => {
                let (deleted, _) = some.get_or_insert_with(|| (0, candidates.clone()));
                if step.action == Action::Delete && step.revision == Revision::Old {
                    *deleted += count;
                }
                candidates
            }
            Target::Ordinal(_) => &[],
        };
        for index in nodes {
            if let Some(moved) = moved.get_mut(*index) {
                *moved = true;
            }
        }
    }
    let left =
        nodes.iter().zip(moved).enumerate().filter(|(_, (on, moved))| on.has_pods() && !moved);
    let mut kept: Vec<_> = left
        .map(|(index, (on, _))| Kept {
            target: Target::Node(index),
            revision: if on.new.is_some() { Revision::New } else { Revision::Old },
        })
        .collect();
    if let Some((deleted, candidates)) = some {
        let has_old = |index: &&usize| nodes.get(**index).is_some_and(|on| on.old.is_some());
        let count = candidates.iter().filter(has_old).count().saturating_sub(deleted);
        if count > 0 {
            let target = Target::SomeNodes { count, candidates };
            kept.push(Kept { target, revision: Revision::Old });
        }
    }
    kept
}

const fn why_kept(settings: &Settings) -> &'static str {
    match settings.is_on_delete() {
        true => "OnDelete: until they are deleted",
        false => "the rollout stops earlier",
    }
}

fn describe(settings: &Settings, nodes: Option<usize>) -> Vec<String> {
    if settings.is_on_delete() {
        return vec!["OnDelete".to_owned()];
    }
    let mut words = vec!["RollingUpdate".to_owned()];
    if let Some(nodes) = nodes {
        let budget = settings.budget(nodes);
        let of = if nodes == 1 { "of 1 node".to_owned() } else { format!("of {nodes} nodes") };
        if budget.max_surge > 0 {
            words.push(format!("maxSurge {} {of}", budget.max_surge));
        }
        if budget.max_unavailable > 0 {
            words.push(format!("maxUnavailable {} {of}", budget.max_unavailable));
        }
    }
    words
}
