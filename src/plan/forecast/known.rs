//! Facts that the objects around a set add to its forecast: times of its pods, budgets, missing revisions.

use super::{Forecast, Forecaster};
use crate::{
    kubernetes::resource::WorkloadKind,
    object::{Object, Workload},
    plan::world::{Set, around::OverBudget},
    rollout::Action,
};

impl Forecaster<'_> {
    /// Adds what is known from pods, budgets and revisions. `template_changes` is set if pods are
    /// replaced because of the change.
    pub(super) fn add_known(
        &self,
        object: &Object<'_>,
        template_changes: bool,
        forecast: &mut Forecast,
    ) {
        let kind = match &object.workload {
            Workload::DaemonSet(_) => WorkloadKind::DaemonSet,
            Workload::StatefulSet(_) => WorkloadKind::StatefulSet,
        };
        let id = forecast.id.clone();
        let set = Set { id: &id, kind, selector: object.selector() };
        let world = &self.input.world;
        if template_changes && world.lacks_revisions(&set) {
            forecast.notes.push(
                "not known: whether some of the pods have this template already; the \
                 ControllerRevisions of the set aren't in the input, so all pods count as old"
                    .to_owned(),
            );
        }
        forecast.estimate = estimate(&world.times_to_ready(&set), forecast);
        let labels = object.template().metadata.as_ref().and_then(|it| it.labels.as_ref());
        let replicas = match &object.workload {
            // The API server has no scale of a DaemonSet, so a budget knows only its pods.
            Workload::DaemonSet(_) => None,
            Workload::StatefulSet(spec) => Some(spec.replicas.unwrap_or(1)),
        };
        let down = forecast.course.at_most_unavailable;
        forecast.over_budgets = world.over_budgets(&set, labels, replicas, down);
        for OverBudget { name, allowed } in &forecast.over_budgets {
            forecast.notes.push(format!(
                "takes down {down} pods at a time, but the PodDisruptionBudget {name} allows the eviction of \
                 {allowed}: the controller deletes pods and asks no budget"
            ));
        }
    }
}

/// Returns an estimate of the duration, with its basis.
fn estimate(times: &[i64], forecast: &Forecast) -> Option<(i64, String)> {
    let course = &forecast.course;
    if course.stop.is_some() {
        return None;
    }
    let mut waves: Vec<_> = course
        .steps
        .iter()
        .filter(|step| step.action == Action::Create)
        .map(|step| step.wave)
        .collect();
    waves.dedup();
    let mut times = times.to_vec();
    times.sort_unstable();
    let median = *times.get(times.len() / 2).filter(|median| **median > 0)?;
    let waves = i64::try_from(waves.len()).ok().filter(|waves| *waves > 0)?;
    let seconds = course.at_least_seconds.saturating_add(waves.saturating_mul(median));
    let pods = if times.len() == 1 { "1 pod".to_owned() } else { format!("{} pods", times.len()) };
    let in_waves = if waves == 1 { "1 wave".to_owned() } else { format!("{waves} waves") };
    let text = format!(
        "estimate: {seconds} s and the time that pods take to stop, because {pods} of the set took \
         {median} s to become ready (median), in {in_waves}"
    );
    Some((seconds, text))
}
