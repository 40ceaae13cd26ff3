//! Forecast notes from the objects around a set: pod times, budgets, missing revisions.

use k8s_openapi::api::apps::v1::{DaemonSetStatus, StatefulSetStatus};

use super::Transition;
use crate::plan::prelude::*;
use crate::plan::{cluster::neighbors::OverBudget, forecast::Estimate};

/// A note about a strategy that replaces pods that the previous one kept.
pub(super) const MAY_BE_OLD: &str = "the previous strategy may have kept pods with an older template: the controller replaces them now, and only the pods \
     show which (--live)";

impl<'a> Transition<'a> {
    pub(super) fn set(&self) -> SetQuery<'a> {
        query(self.id, self.object, self.before)
    }
}

/// `before` is the object whose pods exist.
pub(super) fn query<'a>(
    id: &'a ObjectId,
    object: &'a Object<'_>,
    before: Option<&Object<'_>>,
) -> SetQuery<'a> {
    let kind = object.kind();
    SetQuery { id, kind, selector: object.selector(), pods: before.and_then(counted) }
}

impl Forecaster<'_> {
    /// Returns the budgets that would allow fewer evictions than the rollout takes down.
    pub(super) fn over_budgets(
        &self,
        transition: &Transition<'_>,
        course: &Course,
    ) -> Vec<OverBudget> {
        let template = transition.object.template();
        let labels = template.metadata.as_ref().and_then(|it| it.labels.as_ref());
        let replicas = match &transition.object.workload {
            // A DaemonSet has no scale subresource, so the budget counts its pods.
            Workload::DaemonSet(_) => None,
            Workload::StatefulSet(spec) => Some(spec.replicas.unwrap_or(1)),
        };
        let down = course.at_most_unavailable;
        self.input.world.over_budgets(&transition.set(), labels, replicas, down)
    }

    pub(super) fn notes_around(
        &self,
        transition: &Transition<'_>,
        rollout: Option<&Rollout>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let (world, set) = (&self.input.world, transition.set());
        let given = world.given(&set).len();
        if let Some(all) = set.pods.filter(|_| given > 0 && world.pods(&set).is_none()) {
            notes.push(format!(
                "not known: the state of the pods; the input has {given} of {all}, so all are taken to be available \
                 and of the previous template"
            ));
        }
        if transition.template_changes && world.lacks_revisions(&set) {
            notes.push(
                "not known: whether some of the pods have this template already; the \
                 ControllerRevisions of the set aren't in the input, so all pods count as old"
                    .to_owned(),
            );
        }
        notes.extend(overdue(world, &set).filter(|_| rollout.is_some()));
        let refused = |reason, what: &str| {
            let event = world.refused(&set, reason)?;
            let at = Timestamp::from_second(event.last).ok()?;
            let message = event.refusal();
            Some(format!(
                "the API server refused {what} at {at}: {message}; until that is repaired, the rollout doesn't go on"
            ))
        };
        if transition.before.is_some_and(lacks_pods) {
            notes.extend(refused("FailedCreate", "to create one of its pods"));
        }
        if rollout.is_some() && world.ending(&set).is_empty() {
            notes.extend(refused("FailedDelete", "to delete one of its pods"));
        }
        if let Some(rollout) = rollout {
            let down = count(rollout.course.at_most_unavailable, "pod");
            notes.extend(rollout.over_budgets.iter().map(|OverBudget { name, allowed }| {
                format!(
                    "takes down {down} at a time, but the PodDisruptionBudget {name} allows the eviction of \
                     {allowed}: the controller deletes pods and asks no budget"
                )
            }));
        }
        notes
    }
}

/// Returns the number of pods in an object's status, or otherwise in its spec.
fn counted(object: &Object<'_>) -> Option<usize> {
    let count = match &object.workload {
        Workload::DaemonSet(_) => {
            object.status.read::<DaemonSetStatus>().map_or(1, |it| it.current_number_scheduled)
        }
        Workload::StatefulSet(spec) => match object.status.read::<StatefulSetStatus>() {
            Some(status) => status.replicas,
            None => spec.replicas.unwrap_or(1).max(1),
        },
    };
    usize::try_from(count).ok()
}

/// Returns whether the status of a set counts fewer pods, or new pods of a DaemonSet, than it should have.
fn lacks_pods(object: &Object<'_>) -> bool {
    match &object.workload {
        Workload::DaemonSet(_) => object
            .status
            .read::<DaemonSetStatus>()
            // A surge lacks new pods while each node has an old one.
            .is_some_and(|it| {
                let updated = it.updated_number_scheduled.unwrap_or_default();
                updated.min(it.current_number_scheduled) < it.desired_number_scheduled
            }),
        Workload::StatefulSet(spec) => object
            .status
            .read::<StatefulSetStatus>()
            .is_some_and(|it| it.replicas < spec.replicas.unwrap_or(1)),
    }
}

/// Returns a note about overdue terminating pods. If the input is old, they may be gone.
fn overdue(world: &PlannedCluster, set: &SetQuery<'_>) -> Option<String> {
    let now = world.now.as_second();
    let late = world.ending(set).iter().map(|it| &it.pod).filter(|pod| pod.is_overdue(now));
    let mut late: Vec<_> = late.collect();
    late.sort_unstable_by_key(|pod| &pod.name);
    let first = late.iter().filter_map(|pod| pod.deleted).min()?;
    let names: Vec<&str> = late.iter().map(|pod| &*pod.name).collect();
    let (are, they_are) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
    let may_be_gone = late.iter().any(|pod| world.stranded(pod).is_none());
    Some(format!(
        "{} {are} still being deleted, and should have been gone at {}{}",
        names.join(", "),
        Timestamp::from_second(first).ok()?,
        match may_be_gone {
            true => format!(": the rollout may stop there until {they_are} gone"),
            false => String::new(),
        }
    ))
}

pub(super) fn adopted(world: &PlannedCluster, set: &SetQuery<'_>) -> Option<String> {
    let mut names: Vec<_> = world.adopted(set).map(|it| &*it.pod.name).collect();
    names.sort_by_key(|name| (name.len(), *name));
    let (first, last) = (names.first()?, names.last()?);
    Some(match names.len() {
        1 => format!("{first} has no owner and is adopted"),
        2 => format!("{first} and {last} have no owner and are adopted"),
        count => format!("{first} … {last} ({count} pods) have no owner and are adopted"),
    })
}

pub(super) fn estimate(times: &[i64], course: &Course) -> Option<Estimate> {
    if course.stop.is_some() {
        return None;
    }
    let creations = course.steps.iter().filter(|step| step.action == Action::Create);
    let mut waves: Vec<_> = creations.map(|step| step.wave).collect();
    waves.dedup();
    let in_waves = match course.waves > waves.len() {
        true => format!("{} of {} waves", waves.len(), course.waves),
        false => count(waves.len(), "wave"),
    };
    let mut times = times.to_vec();
    times.sort_unstable();
    let median = *times.get(times.len() / 2).filter(|median| **median > 0)?;
    let waves = i64::try_from(waves.len()).ok().filter(|waves| *waves > 0)?;
    let seconds = course.at_least_seconds.saturating_add(waves.saturating_mul(median));
    let pods = count(times.len(), "pod");
    let text = format!(
        "estimate: {seconds} s and the time that pods take to stop, because {pods} of the set took \
         {median} s to become ready (median), in {in_waves}"
    );
    Some(Estimate { seconds, text })
}
