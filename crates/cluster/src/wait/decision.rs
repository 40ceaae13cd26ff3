//! The decision whether a rollout has ended, goes on, or cannot succeed. It is pure: earlier
//! observations are an input.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use setguard_core::{
    kubernetes::kind::Kind,
    observed::{Phase, Pod, RolloutStatus, WorkloadState, WorkloadStatus},
};

use super::{
    claims, creation, daemon_set,
    flapping::Flaps,
    obstacle::{Hold, Obstacle, View},
    pods, stateful_set,
    target::Target,
};

/// The longest interruption of an obstacle. If an obstacle is not seen for longer, it counts as a
/// new one when it comes back.
const GAP: SignedDuration = SignedDuration::from_secs(5);
/// The longest interruption of a crash: a container that crashes is ready, or just started, in
/// between.
const GAP_OF_CRASH: SignedDuration = SignedDuration::from_secs(60);

/// The prefix of the key of an obstacle: nothing goes on.
const IDLE: &str = "idle";

/// The obstacles seen so far.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    seen: BTreeMap<(Target, String), Seen>,
    /// The time of the first refusal that was seen, in seconds since 1970.
    refusals: BTreeMap<Target, Option<i64>>,
    flaps: Flaps,
}

/// The times at which an obstacle was first and last seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    first: Timestamp,
    last: Timestamp,
}

/// The current decision about a set.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// The standing; `None` if the set does not exist.
    pub(crate) standing: Option<RolloutStatus>,
    /// The obstacles that keep the set from its end, the worst first.
    pub(crate) obstacles: Vec<Obstacle>,
    /// The obstacles that have lasted too long: the rollout cannot succeed.
    pub(crate) stuck: Vec<Obstacle>,
}

impl Decision {
    /// Returns whether the rollout has succeeded.
    pub(crate) fn is_done(&self) -> bool {
        self.standing.as_ref().is_some_and(|it| it.outcome().is_some())
    }
}

impl Memory {
    /// Forgets the times at which obstacles were first seen, because nothing was seen for a while.
    pub(crate) fn begin_again(&mut self) {
        self.seen.clear();
        self.flaps.clear();
    }

    /// Records an obstacle, and returns the time at which it was first seen.
    fn note(&mut self, target: &Target, obstacle: &Obstacle, now: Timestamp) -> Timestamp {
        let gap = if obstacle.key.ends_with(pods::CRASH) { GAP_OF_CRASH } else { GAP };
        let key = (target.clone(), obstacle.key.clone());
        let seen = self.seen.entry(key).or_insert(Seen { first: now, last: now });
        if now.duration_since(seen.last) > gap {
            seen.first = now;
        }
        seen.last = now;
        seen.first
    }
}

/// Decides about a set. `set` is `None` if it does not exist.
pub(crate) fn decide(
    view: &View<'_>,
    target: &Target,
    set: Option<&WorkloadStatus>,
    memory: &mut Memory,
) -> Decision {
    let standing = set.map(|set| RolloutStatus::of(set, view.cluster, view.allow_none));
    let mut obstacles = match (set, &standing) {
        (Some(set), Some(standing)) => {
            let refusal = memory.refusals.entry(target.clone()).or_default();
            let mut obstacles = obstacles(view, set, standing, refusal);
            if standing.phase == Phase::Going {
                let pods = view.observed.pods(set).iter().filter(|pod| stays(view, set, pod));
                obstacles.extend(pods.filter_map(|pod| memory.flaps.note(view, target, set, pod)));
            }
            obstacles
        }
        _ => vec![Obstacle::new("gone", Hold::Fact, "it does not exist any more")],
    };
    obstacles.sort_by_key(|it| it.hold);
    let mut stuck = Vec::new();
    obstacles.retain(|obstacle| {
        let first = memory.note(target, obstacle, view.now);
        if obstacle.has_lasted(first, view) {
            stuck.push(obstacle.clone());
        }
        // A controller needs a moment between two pods.
        !obstacle.key.starts_with(IDLE) || view.now.duration_since(first) >= view.limits.fact
    });
    Decision { standing, obstacles, stuck }
}

/// Returns whether a pod is in the way as long as it is not available: the rollout does not replace it, or waits
/// for it before it does.
fn stays(view: &View<'_>, set: &WorkloadStatus, pod: &Pod) -> bool {
    match &set.state {
        WorkloadState::DaemonSet(it) => {
            set.is_on_delete() || daemon_set::is_updated(view.observed, set, it, pod)
        }
        WorkloadState::StatefulSet(it) => {
            let is_parallel = it.spec.pod_management_policy.as_deref() == Some("Parallel");
            !is_parallel
                || set.is_on_delete()
                || it.status.update_revision.as_deref().is_some_and(|it| pod.is_of(it))
        }
    }
}

/// Returns all obstacles that keep a set from its end.
fn obstacles(
    view: &View<'_>,
    set: &WorkloadStatus,
    standing: &RolloutStatus,
    refusal: &mut Option<i64>,
) -> Vec<Obstacle> {
    if set.is_being_deleted() {
        return vec![Obstacle::new("deleted", Hold::Fact, "it is being deleted")];
    }
    match (standing.phase, &set.state) {
        (Phase::Ended(_), _) => Vec::new(),
        (Phase::Unseen(generation), _) => {
            let text = format!(
                "no controller has seen generation {generation} of its spec; does \
                 kube-controller-manager run?"
            );
            vec![Obstacle::new(format!("unseen {generation}"), Hold::Transient, text)]
        }
        (Phase::NoNode, WorkloadState::DaemonSet(daemons)) => {
            vec![daemon_set::no_node(view, daemons)]
        }
        (Phase::Covered(partition), _) => {
            let text = format!(
                "the partition, {partition}, covers all {} replicas, so no pod gets the new revision until it \
                 is lowered",
                standing.wanted
            );
            vec![Obstacle::new("partition", Hold::Fact, text)]
        }
        (_, state) => {
            // Of two obstacles with the same patience, a claim says more than the pod that waits for it.
            let mut obstacles: Vec<_> = claims::unbound(view, set).into_iter().collect();
            obstacles.extend(match state {
                WorkloadState::DaemonSet(it) => daemon_set::obstacles(view, set, it),
                WorkloadState::StatefulSet(it) => stateful_set::obstacles(view, set, it),
            });
            if obstacles.is_empty()
                && let Some(mut idle) = idle(view, set, standing)
            {
                creation::explain(view, set, refusal, &mut idle);
                obstacles.push(idle);
            }
            obstacles
        }
    }
}

/// Returns the obstacle of a set that nothing known keeps from its end although nothing goes on.
fn idle(view: &View<'_>, set: &WorkloadStatus, standing: &RolloutStatus) -> Option<Obstacle> {
    // Without the pods, it is not known whether one of them is about to be ready.
    if !view.observed.knows(Kind::Pod, set.namespace()) {
        return None;
    }
    let pods = view.observed.pods(set);
    let moves = |pod: &Pod| !pod.ready.0 || pod.deleted.is_some();
    // Ready pods wait for minReadySeconds.
    if pods.iter().any(moves) || standing.available < standing.ready {
        return None;
    }
    let RolloutStatus { updated, ready, exist, wanted, .. } = standing;
    let text = match exist < wanted {
        true => format!("{} pods are missing, and the cause is not known", wanted - exist),
        false => "all pods are ready, and the controller replaces none".to_owned(),
    };
    let key = format!("{IDLE} {updated} {ready} {exist} {}", pods.len());
    Some(Obstacle::new(key, Hold::Transient, text))
}
