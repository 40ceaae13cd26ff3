mod nodes;

use k8s_openapi::api::apps::v1::DaemonSetStatus;
use setguard_core::{
    inventory::host_port::share_a_port,
    object::DaemonSetSpec,
    rollout::{
        daemon_set::{Settings, simulate},
        node::Placing,
    },
};

use self::nodes::DaemonNode;
use super::{
    Simulated, Transition,
    old_state::{MAY_BE_OLD, adopted, estimate},
};
use crate::plan::prelude::*;

impl Forecaster<'_> {
    pub(super) fn daemon_set(
        &self,
        spec: &DaemonSetSpec,
        transition: &Transition<'_>,
    ) -> Simulated {
        let before = transition.before.and_then(|it| it.template().spec.as_ref());
        let shared = before.zip(spec.template.spec.as_ref());
        let old_holds_port = shared.is_some_and(|(old, new)| share_a_port(old, new));
        let settings = Settings { old_holds_port, ..Settings::of(spec) };
        let world = &self.input.world;
        let may_be_old =
            world.pods(&transition.set()).is_none() && may_be_old(&settings, transition);
        let may_be_old_note = may_be_old.then(|| MAY_BE_OLD.to_owned());
        let Some(nodes) = &world.nodes else {
            let placing = Placing::of(&spec.template);
            let shape = match transition.before {
                Some(old) => {
                    let leaving = placing.leaving(&Placing::of(old.template()));
                    [&*settings.shape()].into_iter().chain(leaving).collect::<Vec<_>>().join("; ")
                }
                None => "a pod starts on each node that it selects and tolerates".to_owned(),
            };
            let settings = describe(&settings, None);
            // Unchanged pods have no steps on any node.
            if transition.before.is_some() && !transition.template_changes {
                let notes = may_be_old_note.into_iter().collect();
                return Simulated { settings, notes, ..Simulated::default() };
            }
            let note = format!("{shape}; --nodes shows which pods, and in which order");
            return Simulated { settings, ..Simulated::none(note) };
        };
        let all_new = transition.never_created || self.never_ready.iter().any(|pod| pod == "new");
        let never_ready = NeverReady { all_new, ..NeverReady::default() };
        let nodes = self.daemon_nodes(nodes, spec, transition, &never_ready);
        let pods: Vec<_> = nodes.iter().map(|node| node.pods).collect();
        let wanted = pods.iter().filter(|node| node.runs).count();
        let alive = pods.iter().filter(|node| !node.is_dead);
        let mut new = alive.filter_map(|node| node.new);
        let is_under_way = pods.iter().any(|node| node.old.is_some());
        let is_breaking = is_under_way && new.any(|it| it == Health::Broken);
        let course = simulate(&settings, pods.clone(), &never_ready);
        let set = transition.set();
        let mut notes: Vec<_> = adopted(world, &set).into_iter().chain(may_be_old_note).collect();
        if course.depends_on_chance {
            let note = "the controller chooses the nodes of a wave at random, and not all of them \
                        get a new pod: the waves below are one possible course";
            notes.push(note.to_owned());
        }
        let kept = course.kept_daemons.iter().cloned();
        let kept: Vec<_> = kept.map(|(target, revision)| Kept { target, revision }).collect();
        let keeps_old = kept.iter().any(|it| it.revision == Revision::Old);
        let without = |before: &Object<'_>| {
            let Workload::DaemonSet(before) = &before.workload else { return None };
            let mut settings = Settings::of(before);
            // A new template starts a new rollout.
            settings.rolling.take_if(|_| transition.template_changes);
            Some(simulate(&settings, pods.clone(), &never_ready).at_most_unavailable)
        };
        let down_before = transition.before.and_then(without);
        let works = course.stop.is_none() && !course.steps.is_empty();
        let if_broken = works.then(|| simulate(&settings, pods, &NeverReady::all_new()));
        let rollout = Rollout {
            kept,
            why_kept: keeps_old.then(|| why_kept(&settings, &course).to_owned()),
            down_before,
            if_broken,
            undo: self.undo(transition, is_breaking, &spec.template, settings.min_ready_seconds),
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

/// Returns whether the controller replaces pods that OnDelete kept, if they have an older template.
fn may_be_old(settings: &Settings, transition: &Transition<'_>) -> bool {
    let Some(before) = transition.before else { return false };
    let Workload::DaemonSet(spec) = &before.workload else { return false };
    let status = before.status.read::<DaemonSetStatus>();
    let is_updated = status.is_some_and(|it| {
        it.updated_number_scheduled.is_some_and(|updated| updated >= it.current_number_scheduled)
    });
    Settings::of(spec).is_on_delete()
        && !settings.is_on_delete()
        && !transition.template_changes
        && !is_updated
}

const fn why_kept(settings: &Settings, course: &Course) -> &'static str {
    if settings.is_on_delete() {
        "OnDelete: until they are deleted"
    } else if course.stop.is_some() {
        "the rollout stops earlier"
    } else {
        "where it counts as new by its label pod-template-generation until it is deleted"
    }
}

fn describe(settings: &Settings, nodes: Option<usize>) -> Vec<String> {
    if settings.is_on_delete() {
        return vec!["OnDelete".to_owned()];
    }
    let mut words = vec!["RollingUpdate".to_owned()];
    if let Some(nodes) = nodes {
        let budget = settings.budget(nodes);
        let of = count(nodes, "node");
        let parts = [("maxSurge", budget.max_surge), ("maxUnavailable", budget.max_unavailable)];
        let parts = parts.into_iter().filter(|(_, most)| *most > 0);
        words.extend(parts.map(|(name, most)| format!("{name} {most} of {of}")));
    }
    words
}
