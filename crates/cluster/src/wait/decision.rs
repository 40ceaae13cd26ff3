//! Decides whether a rollout has ended, continues, or cannot succeed, from the audit's findings and the patience with
//! each of them. The decision is pure: earlier observations are an input.

use setguard_core::{
    finding::{Hold, Outlook},
    kubernetes::cluster::Cluster,
    observed::{LONGEST_WAIT, Phase, Pod, RolloutStatus, SLACK, WorkloadState},
    rules::status::outlook::{CRASH, IDLE, LOOP},
};

use super::{diagnosis::Diagnosis, flapping::Flaps};
use crate::prelude::*;

/// How long an obstacle may be absent. If it stays away longer, it counts as new when it comes back.
const GAP: SignedDuration = SignedDuration::from_secs(5);
/// The same for a crash, because between crashes the container starts and may even be ready.
const GAP_OF_CRASH: SignedDuration = SignedDuration::from_secs(60);
/// How much longer a crash may last than other passing obstacles. Five restarts take longer than the default patience
/// of five minutes: the kubelet waits 10, 20, 40, 80 and 160 seconds before them.
const CRASHES: i32 = 2;
/// How long before the wait a controller's attempt still counts, in seconds.
const BEFORE: i64 = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// Identifies the obstacle across observations.
    pub(crate) key: String,
    pub(crate) facts: Facts,
    pub(crate) repair: Option<Repair>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Deletes this pod; the controller creates it again with the new revision.
    DeletePod(String),
    /// Makes the controller try again now.
    Poke,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For permanent problems: just long enough to confirm them.
    pub(crate) lasting: SignedDuration,
    /// For obstacles that seldom go away by themselves.
    pub(crate) seldom: SignedDuration,
    /// For obstacles that often go away by themselves.
    pub(crate) passing: SignedDuration,
    /// After how many restarts a crashing container is given up.
    pub(crate) restarts: i32,
}

impl Limits {
    pub(crate) fn of(patience: SignedDuration, restarts: i32) -> Self {
        Limits {
            lasting: SignedDuration::from_secs(10).min(patience),
            seldom: SignedDuration::from_mins(1).min(patience),
            passing: patience,
            restarts,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) cluster: &'a Cluster,
    pub(crate) now: Timestamp,
    pub(crate) begun: Timestamp,
    pub(crate) limits: Limits,
    /// Whether a set without any rollout counts as done; see `RolloutStatus::of`.
    pub(crate) allow_none: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    seen: BTreeMap<(Target, String), Seen>,
    /// The time of the first refusal seen, in seconds since 1970.
    refusals: BTreeMap<Target, i64>,
    flaps: Flaps,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    first: Timestamp,
    last: Timestamp,
}

#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// `None` if the set does not exist.
    pub(crate) standing: Option<RolloutStatus>,
    /// The worst first.
    pub(crate) obstacles: Vec<Obstacle>,
    pub(crate) stuck: Vec<Obstacle>,
}

impl Decision {
    pub(crate) fn is_done(&self) -> bool {
        self.standing.as_ref().is_some_and(|it| it.outcome().is_some())
    }
}

impl Obstacle {
    pub(super) fn of(facts: Facts) -> Self {
        let pod = facts.pods.first().map(String::as_str).unwrap_or_default();
        Obstacle { key: format!("{} {pod}", facts.outlook.state), facts, repair: None }
    }

    fn has_lasted(&self, first: Timestamp, view: &View<'_>) -> bool {
        let for_long = |limit: SignedDuration| view.now.duration_since(first) >= limit;
        let limits = &view.limits;
        let now = view.now.as_second();
        match self.facts.outlook.hold {
            Hold::Lasting => for_long(limits.lasting),
            Hold::Crash(restarts) if restarts >= limits.restarts => for_long(limits.lasting),
            Hold::Seldom => for_long(limits.seldom),
            Hold::Passing | Hold::Tried(_) => for_long(limits.passing),
            Hold::Crash(_) => for_long(limits.passing * CRASHES),
            Hold::Since(since) => {
                for_long(limits.lasting) && now.saturating_sub(since) >= limits.passing.as_secs()
            }
            Hold::Until(end) => now >= end && for_long(limits.passing),
            Hold::Slow => false,
        }
    }
}

impl Memory {
    /// Forgets when obstacles were first seen, because the cluster was not observed for a while.
    pub(crate) fn begin_again(&mut self) {
        self.seen.clear();
        self.flaps.clear();
    }

    /// Records an obstacle. Returns since when it affects all of its pods.
    fn note(&mut self, target: &Target, obstacle: &Obstacle, now: Timestamp) -> Timestamp {
        let Outlook { state, .. } = obstacle.facts.outlook;
        let gap = if state == CRASH { GAP_OF_CRASH } else { GAP };
        // While a set is idle, its pods on a node that is down may come and go.
        let pods = obstacle.facts.pods.iter().filter(|_| state != IDLE);
        let mut keys: Vec<_> = pods.map(|pod| format!("{} {pod}", obstacle.key)).collect();
        if keys.is_empty() {
            keys.push(obstacle.key.clone());
        }
        let firsts = keys.into_iter().map(|key| {
            let seen = self.seen.entry((target.clone(), key));
            let seen = seen.or_insert(Seen { first: now, last: now });
            if now.duration_since(seen.last) > gap {
                seen.first = now;
            }
            seen.last = now;
            seen.first
        });
        firsts.max().unwrap_or(now)
    }
}

/// `set` is `None` if the set does not exist.
pub(crate) fn decide(
    view: &View<'_>,
    target: &Target,
    set: Option<&WorkloadStatus>,
    diagnosis: &Diagnosis,
    memory: &mut Memory,
) -> Decision {
    let mut standing =
        set.map(|set| RolloutStatus::of(view.observed, set, view.cluster, view.allow_none));
    if let (Some(set), Some(standing)) = (set, &mut standing)
        && standing.outcome().is_some()
        && diagnosis.about(view, set, false).any(|it| {
            it.facts.as_ref().is_some_and(|facts| [CRASH, LOOP].contains(&facts.outlook.state))
        })
    {
        // All pods are ready, but only for a moment.
        standing.phase = Phase::Going;
    }
    let mut obstacles = match (set, &standing) {
        (Some(set), Some(standing)) => {
            let mut obstacles = obstacles(view, target, set, standing, diagnosis, memory);
            if standing.phase == Phase::Going {
                let pods = view.observed.pods(set).iter().filter(|pod| stays(view, set, pod));
                obstacles.extend(pods.filter_map(|pod| memory.flaps.note(view, target, set, pod)));
            }
            obstacles
        }
        _ => vec![plain("it does not exist any more", Hold::Lasting)],
    };
    obstacles.sort_by_key(|it| it.facts.outlook.hold);
    let mut stuck = Vec::new();
    obstacles.retain(|obstacle| {
        let first = memory.note(target, obstacle, view.now);
        if obstacle.has_lasted(first, view) {
            stuck.push(obstacle.clone());
        }
        // A controller needs a moment between two pods, unless something says what it waits for.
        obstacle.facts.outlook.state != IDLE
            || obstacle.facts.cause.is_some()
            || view.now.duration_since(first) >= view.limits.lasting
    });
    Decision { standing, obstacles, stuck }
}

/// Returns whether an unavailable pod blocks the rollout: the rollout does not replace it, or first waits for it.
fn stays(view: &View<'_>, set: &WorkloadStatus, pod: &Pod) -> bool {
    let is_ordered = match &set.state {
        WorkloadState::DaemonSet(_) => false,
        WorkloadState::StatefulSet(it) => {
            it.spec.pod_management_policy.as_deref() != Some("Parallel")
        }
    };
    is_ordered || set.is_on_delete() || view.observed.is_updated(set, pod)
}

fn plain(text: impl Into<String>, hold: Hold) -> Obstacle {
    Obstacle::of(Facts::title(text).outlook(Outlook::new("", hold)))
}

fn obstacles(
    view: &View<'_>,
    target: &Target,
    set: &WorkloadStatus,
    standing: &RolloutStatus,
    diagnosis: &Diagnosis,
    memory: &mut Memory,
) -> Vec<Obstacle> {
    let found = |in_all| diagnosis.about(view, set, in_all);
    match standing.phase {
        Phase::Ended(_) => Vec::new(),
        Phase::Unseen(generation) => {
            let text = format!(
                "no controller has seen generation {generation} of its spec: kube-controller-manager does not \
                 run, or the API server refuses it a ControllerRevision or a change of a pod"
            );
            // A controller needs a moment.
            vec![Obstacle::of(Facts::title(text).outlook(Outlook::new(IDLE, Hold::Passing)))]
        }
        Phase::Deleted => vec![plain(standing.text(), Hold::Lasting)],
        Phase::NoNode => {
            let facts = found(true).find_map(|it| it.facts.clone());
            vec![match facts.filter(|it| it.outlook.hold == Hold::Lasting) {
                Some(facts) => Obstacle::of(*facts),
                None => plain("no node gets a pod of it, so nothing runs", Hold::Lasting),
            }]
        }
        Phase::Covered(partition) => {
            let text = format!(
                "the partition, {partition}, covers all {} replicas, so no pod gets the new revision until it \
                 is lowered",
                standing.wanted
            );
            vec![plain(text, Hold::Lasting)]
        }
        Phase::Going => found(false)
            .filter_map(|it| of_finding(view, target, set, standing, it, memory))
            .collect(),
    }
}

fn of_finding(
    view: &View<'_>,
    target: &Target,
    set: &WorkloadStatus,
    standing: &RolloutStatus,
    found: &Diagnostic,
    memory: &mut Memory,
) -> Option<Obstacle> {
    let mut facts = (**found.facts.as_ref()?).clone();
    let Outlook { state, hold } = facts.outlook;
    let mut key = format!("{} {state}", found.rule.id);
    let mut repair = facts.in_the_way.clone().map(Repair::DeletePod);
    if repair.is_some() {
        // A pod that was merely unready before now holds up the rollout.
        key.push_str(" in the way");
    }
    let is_tried = matches!(hold, Hold::Tried(_));
    if is_tried || state == IDLE {
        let RolloutStatus { updated, ready, exist, .. } = standing;
        key = format!("{key} {updated} {ready} {exist} {}", view.observed.pods(set).len());
        // Without the pods, the rule cannot see whether one of them is about to be ready.
        if !view.observed.knows(Kind::Pod, set.namespace()) {
            return None;
        }
        if moves(view, set, standing) {
            facts.outlook.hold = Hold::Slow;
        }
    }
    if let Hold::Tried(last) = facts.outlook.hold {
        // A refusal later than the first one seen is current, whatever the local clock shows.
        let known = *memory.refusals.entry(target.clone()).or_insert(last);
        let is_current = last > known || last >= view.begun.as_second() - BEFORE;
        facts.outlook.hold = Hold::Passing;
        if !is_current {
            // The cause may be gone; only the next attempt shows that.
            facts.outlook.hold = Hold::Until(last + LONGEST_WAIT + SLACK);
            repair = Some(Repair::Poke);
        }
    }
    Some(Obstacle { key, facts, repair })
}

/// Returns whether a pod is about to be ready or gone, or ready pods wait for `minReadySeconds`.
fn moves(view: &View<'_>, set: &WorkloadStatus, standing: &RolloutStatus) -> bool {
    let is_down = |pod: &Pod| {
        let node = pod.node.as_deref().and_then(|name| view.observed.node(name));
        node.is_some_and(|node| node.not_ready.is_some())
    };
    let pods = view.observed.pods(set).iter().filter(|pod| !is_down(pod));
    pods.clone().any(|pod| !pod.ready.0 || pod.deleted.is_some())
        || standing.available < standing.ready
}
