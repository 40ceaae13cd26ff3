//! What becomes of a DaemonSet.

use super::{Forecast, Forecaster};
use crate::{
    object::DaemonSetSpec,
    rollout::{
        Health, NeverReady, Target,
        daemon_set::{Place, Settings, placements, simulate},
        node::Placement,
    },
};

impl Forecaster<'_> {
    pub(super) fn daemon_set(
        &self,
        spec: &DaemonSetSpec,
        old: Option<&DaemonSetSpec>,
        template_changes: bool,
        forecast: &mut Forecast,
    ) {
        let settings = Settings::of(spec);
        let Some(nodes) = &self.input.nodes else {
            forecast.settings = describe(&settings, None);
            let note = "which nodes it runs on cannot be said without them: give --nodes";
            forecast.notes.push(note.to_owned());
            return;
        };
        forecast.min_ready_seconds = spec.min_ready_seconds.unwrap_or(0).into();
        forecast.after = placements(spec, nodes);
        forecast.before = old.map(|old| placements(old, nodes)).unwrap_or_default();
        let has = |index| forecast.before.get(index) == Some(&Placement::Runs);
        let place = |(index, placement): (usize, &Placement)| {
            let pod = has(index).then_some(Health::Available);
            Place {
                runs: *placement == Placement::Runs,
                keeps: !matches!(placement, Placement::Loses(_)),
                old: pod.filter(|_| template_changes),
                new: pod.filter(|_| !template_changes),
            }
        };
        let places: Vec<_> = forecast.after.iter().enumerate().map(place).collect();
        let wanted = places.iter().filter(|place| place.runs).count();
        forecast.settings = describe(&settings, Some(wanted));
        let all_new = self.never_ready.iter().any(|pod| pod == "new");
        let never_ready = NeverReady { all_new, ..NeverReady::default() };
        forecast.course = simulate(&settings, places.clone(), &never_ready);
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
        let kept = kept.map(|index| (Target::Node(index), !template_changes)).collect::<Vec<_>>();
        if template_changes && !kept.is_empty() {
            let why = if settings.is_on_delete() {
                "OnDelete: until somebody deletes them"
            } else {
                "the rollout stops before them"
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
