//! The nodes and their DaemonSet pods.

use setguard_core::{
    object::DaemonSetSpec,
    rollout::{
        daemon_set::{NodePods, surges},
        node::{NodeInfo, Placing, WhyNot, placements},
    },
};

use crate::plan::prelude::*;
use crate::plan::{forecast::NodeOutlook, forecaster::Transition};

/// The annotation with the template generation of a DaemonSet.
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// A node with its pods of a DaemonSet, and whether it should have one.
pub(super) struct DaemonNode {
    name: String,
    placement: Placement,
    pub(super) pods: NodePods,
}

impl DaemonNode {
    fn new(name: &str, placement: Placement, pods: NodePods) -> Self {
        let pods = NodePods {
            runs: placement == Placement::Runs,
            keeps: !matches!(placement, Placement::Loses(_)),
            ..pods
        };
        DaemonNode { name: name.to_owned(), placement, pods }
    }

    pub(super) fn outlook(self) -> NodeOutlook {
        let DaemonNode { name, placement, pods } = self;
        NodeOutlook { name, had_pod: pods.has_pods() || pods.never_ends, placement }
    }
}

struct Daemon<'a> {
    revision: Revision,
    /// Whether the pod only counts as new.
    is_stale: bool,
    health: Health,
    pod: &'a Pod,
}

impl Forecaster<'_> {
    /// Returns the nodes with their pods, followed by deleted nodes that still have pods.
    ///
    /// For a deleted node, the controller deletes pods that were never bound to it; the pod garbage collector deletes
    /// the others.
    pub(super) fn daemon_nodes(
        &self,
        nodes: &[NodeInfo],
        spec: &DaemonSetSpec,
        transition: &Transition<'_>,
        never_ready: &NeverReady,
    ) -> Vec<DaemonNode> {
        let names = nodes.iter().map(|node| node.name.as_str());
        let named = names.clone().zip(placements(&Placing::of(&spec.template), nodes));
        let Some(live) = self.daemons(spec, transition, never_ready) else {
            let before = pods_before(nodes, transition);
            let all = named.zip(before);
            let all = all.map(|((name, after), on)| (name, after, self.on_node(name, on)));
            return all.map(|(name, after, on)| DaemonNode::new(name, after, on)).collect();
        };
        let set = transition.set();
        let ending = self.input.world.ending_daemons(&set);
        let on = |name: &str| {
            let pods = live.get(name).map(|it| node_pods(it, surges(spec))).unwrap_or_default();
            let ends = ending.get(name).copied();
            let never_ends = ends == Some(true);
            self.on_node(name, NodePods { is_ending: ends.is_some(), never_ends, ..pods })
        };
        let known: HashSet<_> = names.clone().collect();
        let gone = live.keys().filter(|name| !known.contains(**name));
        let gone = gone.map(|name| (*name, Placement::Loses(WhyNot::Gone)));
        named.chain(gone).map(|(name, after)| DaemonNode::new(name, after, on(name))).collect()
    }

    /// A pod on a node that is down becomes neither ready nor gone.
    fn on_node(&self, name: &str, pods: NodePods) -> NodePods {
        let is_dead = self.input.world.dead_nodes.contains(name);
        let broken = |health: Option<Health>| match health {
            Some(health) if is_dead && health != Health::Ended => Some(Health::Broken),
            other => other,
        };
        NodePods { is_dead, old: broken(pods.old), new: broken(pods.new), ..pods }
    }

    /// Returns the pods by node; `None` if the input has no pods.
    fn daemons<'a>(
        &'a self,
        spec: &DaemonSetSpec,
        transition: &Transition<'_>,
        never_ready: &NeverReady,
    ) -> Option<BTreeMap<&'a str, Vec<Daemon<'a>>>> {
        let (world, set) = (&self.input.world, transition.set());
        let known = world.revision(&set, &spec.template);
        let generation = generation(transition).map(|it| it.to_string());
        let min_ready_seconds = spec.min_ready_seconds.unwrap_or(0).into();
        let mut live: BTreeMap<&str, Vec<Daemon<'_>>> = BTreeMap::new();
        for Member { pod, .. } in world.pods(&set)? {
            // Kubernetes: `IsPodUpdated`, pkg/controller/daemon/util/daemonset_util.go.
            let is_new = known.is_some_and(|revision| pod.is_of(revision))
                || match &generation {
                    Some(generation) => pod.is_of_generation(generation),
                    None => known.is_none() && !transition.template_changes,
                };
            let is_stale = is_new
                && (known.is_some() || transition.template_changes || transition.before.is_none())
                && world.is_of_another(&set, pod, known);
            let revision = if is_new { Revision::New } else { Revision::Old };
            let health = world.health(pod, min_ready_seconds);
            let health = never_ready.health(health, revision, None);
            // The controller ignores a pod without a target node.
            let Some(node) = pod.node.as_deref() else { continue };
            live.entry(node).or_default().push(Daemon { revision, is_stale, health, pod });
        }
        Some(live)
    }
}

fn generation(transition: &Transition<'_>) -> Option<i64> {
    let of = transition.before.unwrap_or(transition.object);
    let generation = of.metadata.annotation(GENERATION).and_then(|it| it.parse::<i64>().ok());
    match transition.before {
        // Kubernetes: `PrepareForCreate`, pkg/registry/apps/daemonset/strategy.go.
        None => Some(generation.unwrap_or(1).max(1)),
        Some(_) => generation.map(|it| it + i64::from(transition.template_changes)),
    }
}

/// Returns the assumed pods on the nodes: the previous object's, all available.
fn pods_before(nodes: &[NodeInfo], transition: &Transition<'_>) -> Vec<NodePods> {
    let before = transition.before.and_then(|old| match &old.workload {
        Workload::DaemonSet(spec) => Some(placements(&Placing::of(&spec.template), nodes)),
        Workload::StatefulSet(_) => None,
    });
    let Some(before) = before else { return vec![NodePods::default(); nodes.len()] };
    let on = |placement| {
        let pod = (placement == Placement::Runs).then_some(Health::Available);
        NodePods {
            old: pod.filter(|_| transition.template_changes),
            new: pod.filter(|_| !transition.template_changes),
            ..NodePods::default()
        }
    };
    before.into_iter().map(on).collect()
}

/// Returns the oldest pod with an old template, and the oldest pod with the new template. The controller deletes the
/// others, and pods that have terminated for good. Of several pods where surging allows two, only the hash identifies
/// the new one.
///
/// Kubernetes: `podsShouldBeOnNode`, pkg/controller/daemon/daemon_controller.go.
fn node_pods(daemons: &[Daemon<'_>], surges: bool) -> NodePods {
    let is_running = |it: &&Daemon<'_>| it.health != Health::Ended;
    let by_hash = surges && daemons.iter().filter(is_running).count() > 1;
    let counts_as = |it: &Daemon<'_>| match by_hash && it.is_stale {
        true => Revision::Old,
        false => it.revision,
    };
    let of = |revision| {
        let pods = daemons.iter().filter(move |daemon| counts_as(daemon) == revision);
        let oldest = pods.clone().filter(is_running).min_by_key(|daemon| age(daemon.pod));
        let excess = pods.count() - usize::from(oldest.is_some());
        (oldest, excess)
    };
    let ((mut old, excess), (mut new, excess_new)) = (of(Revision::Old), of(Revision::New));
    // The pod that stays alone may count as new.
    if new.is_none() && old.is_some_and(|it| it.is_stale) {
        new = old.take();
    }
    let stale = daemons.iter().filter(|daemon| daemon.is_stale && !by_hash).count();
    let new_is_stale = new.is_some_and(|it| it.is_stale);
    let excess_stale = stale - usize::from(new_is_stale && !by_hash);
    NodePods {
        old: old.map(|daemon| daemon.health),
        new: new.map(|daemon| daemon.health),
        new_is_stale,
        new_is_older: new.map(|it| age(it.pod)) < old.map(|it| age(it.pod)),
        excess: excess + excess_stale,
        excess_new: excess_new - excess_stale,
        ..NodePods::default()
    }
}

/// Returns a sort key: bound pods first, then older pods.
///
/// Kubernetes: `podByCreationTimestampAndPhase`, pkg/controller/daemon/daemon_controller.go.
fn age(pod: &Pod) -> (bool, i64, &str) {
    (!pod.is_bound, pod.created, &pod.name)
}
