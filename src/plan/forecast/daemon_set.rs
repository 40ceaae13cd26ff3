//! The consequences of a change for a DaemonSet.

use std::collections::HashMap;

use super::{Forecast, Forecaster, adopted};
use crate::{
    kubernetes::resource::WorkloadKind,
    object::DaemonSetSpec,
    observed::{Member, Pod},
    plan::world::Set,
    rollout::{
        Health, NeverReady, Target,
        daemon_set::{Place, Settings, simulate},
        node::{Placement, Placing, placements},
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
            let health = match pod.health(world.now) {
                Health::Ready(since) if since + settings.min_ready_seconds <= 0 => {
                    Health::Available
                }
                Health::Starting if all_new && is_new => Health::Broken,
                health => health,
            };
            let on = live.entry(pod.node.as_deref().unwrap_or_default()).or_default();
            on.add(is_new, health, pod);
        }
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        let on = |index: usize| {
            let known = names.get(index).and_then(|name| live.get(name)).copied();
            if pods.is_some() {
                let OnNode { old, new, excess } = known.unwrap_or_default();
                return Place {
                    old: old.map(|(health, _)| health),
                    new: new.map(|(health, _)| health),
                    new_is_older: new.map(age) < old.map(age),
                    excess,
                    ..Place::default()
                };
            }
            let had = before.get(index) == Some(&Placement::Runs);
            let pod = had.then_some(Health::Available);
            Place {
                old: pod.filter(|_| template_changes),
                new: pod.filter(|_| !template_changes),
                ..Place::default()
            }
        };
        let has = |index| {
            let Place { old, new, .. } = on(index);
            old.is_some() || new.is_some()
        };
        forecast.before = (0..nodes.len()).map(has).collect();
        let place = |(index, placement): (usize, &Placement)| Place {
            runs: *placement == Placement::Runs,
            keeps: !matches!(placement, Placement::Loses(_)),
            ..on(index)
        };
        let places: Vec<_> = forecast.after.iter().enumerate().map(place).collect();
        let wanted = places.iter().filter(|place| place.runs).count();
        forecast.settings = describe(&settings, Some(wanted));
        let never_ready = NeverReady { all_new, ..NeverReady::default() };
        forecast.course = simulate(&settings, places.clone(), &never_ready);
        if forecast.course.depends_on_chance {
            let note = "the controller chooses the nodes of a wave at random, and not all of them \
                        get a new pod: the waves below are one possible course";
            forecast.notes.push(note.to_owned());
        }
        let mut moved = vec![false; nodes.len()];
        for step in &forecast.course.steps {
            let nodes = match &step.target {
                Target::Node(index) => std::slice::from_ref(index),
                Target::SomeNodes { candidates, .. } => candidates,
                Target::Ordinal(_) => &[],
            };
            for index in nodes {
                if let Some(moved) = moved.get_mut(*index) {
                    *moved = true;
                }
            }
        }
        let kept =
            (0..nodes.len()).filter(|index| has(*index) && moved.get(*index) == Some(&false));
        let kept = kept.map(|index| (Target::Node(index), on(index).new.is_some()));
        let kept: Vec<_> = kept.collect();
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
        forecast.nodes.clone_from(nodes);
    }
}

/// The pods on a node.
#[derive(Clone, Copy, Default)]
struct OnNode<'a> {
    /// The oldest pod with an old template.
    old: Option<(Health, &'a Pod)>,
    /// The pod with the new template.
    new: Option<(Health, &'a Pod)>,
    /// The number of other pods with old templates.
    excess: usize,
}

impl<'a> OnNode<'a> {
    fn add(&mut self, is_new: bool, health: Health, pod: &'a Pod) {
        let added = (health, pod);
        if is_new {
            self.new = Some(added);
            return;
        }
        self.excess += usize::from(self.old.is_some());
        self.old = match self.old {
            Some(other) if age(other) < age(added) => Some(other),
            _ => Some(added),
        };
    }
}

/// Returns a key that sorts older pods first.
///
/// Kubernetes: `podByCreationTimestampAndPhase`, pkg/controller/daemon/daemon_controller.go.
fn age((_, pod): (Health, &Pod)) -> (i64, &str) {
    (pod.created, &pod.name)
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
