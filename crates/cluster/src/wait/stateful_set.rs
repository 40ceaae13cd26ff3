//! Obstacles that keep the rollout of a StatefulSet from its end.

use setguard_core::{
    observed::{Pod, StatefulSet, WorkloadStatus},
    rollout::stateful_set::{Settings, Strategy},
    rules::pod_name_taken,
};

use super::{
    obstacle::{Hold, Obstacle, Repair, View},
    pods,
};

/// Returns the obstacles of the pods of a StatefulSet that keep it from its end.
pub(crate) fn obstacles(
    view: &View<'_>,
    set: &WorkloadStatus,
    stateful: &StatefulSet,
) -> Vec<Obstacle> {
    let Some(settings) = Settings::of(set.name(), &stateful.spec, view.cluster) else {
        return Vec::new();
    };
    let pods = view.observed.pods(set).iter();
    let mut pods: Vec<(i64, &Pod)> =
        pods.filter_map(|pod| Some((pod.ordinal(set.name())?, pod))).collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let is_fine = |pod: &Pod| pod.ready.0 && pod.deleted.is_none();
    let taken: Vec<_> = names_taken(view, set, &settings, &pods).collect();
    let mut unready = pods.into_iter().filter(|(_, pod)| !is_fine(pod));
    let update = stateful.status.update_revision.as_deref().unwrap_or_default();
    let is_old = |pod: &Pod| !pod.is_of(update);
    if !settings.is_ordered {
        let is_replaced = |ordinal: i64| settings.replaced().contains(&ordinal);
        // An old pod that is replaced when its turn comes is not in the way.
        return unready
            .filter(|(ordinal, pod)| {
                let is_wanted = settings.ordinals.contains(ordinal);
                is_wanted && !(is_old(pod) && is_replaced(*ordinal) && pod.deleted.is_none())
                    || pod.deleted.is_some()
            })
            .map(|(_, pod)| pods::obstacle(view, set, pod))
            .chain(taken)
            .collect();
    }
    // The controller goes from the first to the last, and waits for each.
    let Some((ordinal, pod)) = unready.next() else { return taken };
    let mut obstacle = pods::obstacle(view, set, pod);
    let rolls = matches!(settings.strategy, Strategy::RollingUpdate { .. });
    let is_replaced = settings.replaced().contains(&ordinal);
    // After a rollback, the status no longer shows that an update is under way.
    if rolls && is_replaced && !update.is_empty() && is_old(pod) && pod.deleted.is_none() {
        // A pod of an old revision that does not become ready is not replaced, even by the fix.
        if obstacle.hold == Hold::Slow {
            obstacle.hold = Hold::Transient;
        }
        obstacle.text.push_str(
            "; it has an old revision, and the new one is not rolled out before it is ready",
        );
        if !obstacle.key.ends_with("node") {
            obstacle.repair = Some(Repair::DeletePod(pod.name.to_string()));
        }
    }
    vec![obstacle]
}

/// Returns the obstacles of pods that cannot be created, because other pods have their names.
fn names_taken<'a>(
    view: &'a View<'_>,
    set: &'a WorkloadStatus,
    settings: &'a Settings,
    pods: &'a [(i64, &Pod)],
) -> impl Iterator<Item = Obstacle> + 'a {
    let exists = |ordinal: i64| pods.binary_search_by_key(&ordinal, |(at, _)| *at).is_ok();
    let taken = pod_name_taken::names_taken(view.observed, set, settings, exists);
    taken.map(|(name, other)| {
        let whose = match &other.controller {
            Some(controller) => format!("{controller} has a pod of this name"),
            None => "another pod has this name".to_owned(),
        };
        let text = format!("{name} cannot be created: {whose}");
        Obstacle::new("name-taken", Hold::Transient, text)
    })
}
