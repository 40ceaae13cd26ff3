//! The consequences of a change for a DaemonSet.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{Forecast, Forecaster, adopted};
use crate::{
    kubernetes::resource::WorkloadKind,
    object::DaemonSetSpec,
    observed::{Member, Pod},
    plan::{undo::Remedy, world::Set},
    rollout::{
        Action, Course, Health, NeverReady, Revision, Target,
        daemon_set::{Place, Settings, simulate},
        node::{Node, Placement, Placing, WhyNot, placements},
    },
};

impl Forecaster<'_> {
    pub(super) fn daemon_set(
        &self,
        spec: &DaemonSetSpec,
        old: Option<&DaemonSetSpec>,
        template_changes: bool,
        generation: Option<i64>,
        forecast: &mut Forecast,
    ) {
        let settings = Settings::of(spec);
        let Some(nodes) = &self.input.world.nodes else {
            forecast.settings = describe(&settings, None);
            let note = "which nodes it runs on cannot be said without them: give --nodes";
            forecast.notes.push(note.to_owned());
            return;
        };
        forecast.min_ready_seconds = spec.min_ready_seconds.unwrap_or(0).into();
        forecast.after = placements(&Placing::of(&spec.template), nodes);
        let before = old.map(|old| placements(&Placing::of(&old.template), nodes));
        let before = before.unwrap_or_default();
        let id = forecast.id.clone();
        let kind = WorkloadKind::DaemonSet;
        let set = Set { id: &id, kind, selector: spec.selector.as_ref() };
        let world = &self.input.world;
        let pods = world.pods(&set);
        forecast.notes.extend(adopted(world, &set));
        let known = world.revision(&set, &spec.template);
        let generation = generation.map(|it| it.to_string());
        let all_new = self.never_ready.iter().any(|pod| pod == "new");
        let mut live: HashMap<&str, OnNode<'_>> = HashMap::new();
        for Member { pod, .. } in pods.iter().flatten() {
            // Kubernetes: `IsPodUpdated`, pkg/controller/daemon/util/daemonset_util.go.
            let is_new = known.is_some_and(|revision| pod.is_of(revision))
                || match &generation {
                    Some(generation) => pod.is_of_generation(generation),
                    None => known.is_none() && !template_changes,
                };
            let health = match world.health(pod, settings.min_ready_seconds) {
                Health::Starting if all_new && is_new => Health::Broken,
                health => health,
            };
            // The controller ignores a pod that is meant for no node.
            let Some(node) = pod.node.as_deref() else { continue };
            live.entry(node).or_default().0.push((is_new, health, pod));
        }
        let nodes = with_gone(nodes, &live);
        forecast.after.resize(nodes.len(), Placement::Loses(WhyNot::Gone));
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        let ending = world.ending_daemons(&set);
        let on = |index: usize| {
            if pods.is_some() {
                let name = names.get(index).copied().unwrap_or_default();
                let place = live.get(name).map(OnNode::place).unwrap_or_default();
                return Place { is_ending: ending.contains(name), ..place };
            }
            let had = before.get(index) == Some(&Placement::Runs);
            let pod = had.then_some(Health::Available);
            Place {
                old: pod.filter(|_| template_changes),
                new: pod.filter(|_| !template_changes),
                ..Place::default()
            }
        };
        let has = |index| on(index).has_pods();
        forecast.before = (0..nodes.len()).map(has).collect();
        let place = |(index, placement): (usize, &Placement)| Place {
            runs: *placement == Placement::Runs,
            keeps: !matches!(placement, Placement::Loses(_)),
            ..on(index)
        };
        let places: Vec<_> = forecast.after.iter().enumerate().map(place).collect();
        let wanted = places.iter().filter(|place| place.runs).count();
        forecast.settings = describe(&settings, Some(wanted));
        forecast.undo = world.undo(&set, &spec.template, settings.min_ready_seconds);
        forecast.remedy = Some(Remedy::Undo);
        let never_ready = NeverReady { all_new, ..NeverReady::default() };
        forecast.course = simulate(&settings, places.clone(), &never_ready);
        if forecast.course.depends_on_chance {
            let note = "the controller chooses the nodes of a wave at random, and not all of them \
                        get a new pod: the waves below are one possible course";
            forecast.notes.push(note.to_owned());
        }
        let kept = kept(&forecast.course, nodes.len(), on);
        if kept.iter().any(|(_, is_new)| !is_new) {
            let why = if settings.is_on_delete() {
                "OnDelete: until they are deleted"
            } else {
                "the rollout stops earlier"
            };
            forecast.why_kept = Some(why.to_owned());
        }
        if forecast.course.stop.is_none() && !forecast.course.steps.is_empty() {
            let never_ready = NeverReady { all_new: true, ..NeverReady::default() };
            forecast.if_broken = simulate(&settings, places, &never_ready).stop;
        }
        forecast.kept = kept;
        forecast.nodes = nodes;
    }
}

/// Returns the nodes, and after them the nodes that are gone and of which there are pods.
///
/// A pod that was never bound to such a node is deleted by the controller, another one by the garbage
/// collector of pods.
fn with_gone(nodes: &[Node], live: &HashMap<&str, OnNode<'_>>) -> Vec<Node> {
    let known: HashSet<_> = nodes.iter().map(|node| node.name.as_str()).collect();
    let mut gone: Vec<_> = live.keys().filter(|name| !known.contains(**name)).collect();
    gone.sort_unstable();
    let gone = gone.into_iter().map(|name| Node { name: (*name).to_owned(), ..Node::default() });
    nodes.iter().cloned().chain(gone).collect()
}

/// Returns the pods that are left alone, and whether they have the new template.
fn kept(course: &Course, nodes: usize, on: impl Fn(usize) -> Place) -> Vec<(Target, bool)> {
    let mut moved = vec![false; nodes];
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
    let kept = (0..nodes).filter(|index| on(*index).has_pods() && !moved[*index]);
    let mut kept: Vec<_> =
        kept.map(|index| (Target::Node(index), on(index).new.is_some())).collect();
    if let Some((deleted, candidates)) = some {
        let had = candidates.iter().filter(|index| on(**index).old.is_some()).count();
        let count = had.saturating_sub(deleted);
        if count > 0 {
            kept.push((Target::SomeNodes { count, candidates }, false));
        }
    }
    kept
}

/// The pods on a node: whether each has the new template, its health, and the pod.
#[derive(Default)]
struct OnNode<'a>(Vec<(bool, Health, &'a Pod)>);

impl OnNode<'_> {
    /// Returns the oldest pod with an old template, and the oldest one with the new template. The
    /// others are deleted, and so are pods that have terminated for good.
    ///
    /// Kubernetes: `podsShouldBeOnNode`, pkg/controller/daemon/daemon_controller.go.
    fn place(&self) -> Place {
        let of = |is_new: bool| {
            let pods = self.0.iter().filter(move |(new, ..)| *new == is_new);
            let running = pods.clone().filter(|(_, health, _)| *health != Health::Ended);
            let oldest = running.min_by_key(|(.., pod)| age(pod));
            let excess = pods.count() - usize::from(oldest.is_some());
            (oldest, excess)
        };
        let ((old, excess), (new, excess_new)) = (of(false), of(true));
        Place {
            old: old.map(|(_, health, _)| *health),
            new: new.map(|(_, health, _)| *health),
            new_is_older: new.map(|(.., pod)| age(pod)) < old.map(|(.., pod)| age(pod)),
            excess,
            excess_new,
            ..Place::default()
        }
    }
}

/// Returns a key that sorts older pods first, and pods that are bound to a node before others.
///
/// Kubernetes: `podByCreationTimestampAndPhase`, pkg/controller/daemon/daemon_controller.go.
fn age(pod: &Pod) -> (bool, i64, &str) {
    (!pod.is_bound, pod.created, &pod.name)
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
