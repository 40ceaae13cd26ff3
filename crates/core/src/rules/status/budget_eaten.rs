//! Finds the pods that block the update of a DaemonSet.

use crate::rules::prelude::*;
use crate::{rollout::daemon_set::Settings, rules::rollout_waits::Unavailability};

pub(in crate::rules) struct Eaten<'a> {
    pub(in crate::rules) budget: Unavailability,
    /// The controller's counts. They include every node that has or should have a pod.
    pub(in crate::rules) counted: Unavailability,
    /// Nodes that are not ready, with their pods.
    pub(in crate::rules) dead: Vec<(&'a Node, &'a Pod)>,
    /// Pods of the current template that do not become ready, on ready nodes.
    pub(in crate::rules) broken: Vec<&'a Pod>,
    /// Pods whose deletion does not end, on ready nodes.
    pub(in crate::rules) ending: Vec<&'a Pod>,
}

/// New pods of a surge that do not become available, so that no old pod is deleted.
pub(in crate::rules) struct Surge<'a> {
    pub(in crate::rules) allowed: usize,
    pub(in crate::rules) broken: Vec<&'a Pod>,
}

/// Returns the new pods that block an update with `maxSurge`, if the update is clearly stuck.
///
/// Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go.
pub(in crate::rules) fn stuck_surge<'a>(
    query: &StatusQuery<'a>,
    daemons: &Daemons<'a>,
) -> Option<Surge<'a>> {
    let status = &daemons.set.status;
    let desired = status.desired_number_scheduled;
    let is_through = status.updated_number_scheduled.unwrap_or_default() >= desired;
    let settings = Settings::of(&daemons.set.spec);
    let allowed = settings.budget(usize::try_from(desired).unwrap_or_default()).max_surge;
    if is_through || settings.is_on_delete() || allowed == 0 || !daemons.knows_revision() {
        return None;
    }
    let nodes = daemons
        .nodes
        .iter()
        // The controller counts a pod on a node that should no longer have one too.
        .filter(|(node, placement, pods)| {
            node.not_ready.is_none() && (*placement == Placement::Runs || !pods.is_empty())
        });
    let broken = nodes.filter_map(|(.., pods)| {
        let mut there = pods.iter().copied().filter(|pod| pod.deleted.is_none());
        let is_new = |pod: &&Pod| daemons.is_updated(pod);
        let new = there.clone().find(is_new)?;
        let is_late = query.is_unready(new) && query.audit.is_long_ago(query.unready_since(new));
        (is_late && there.any(|pod| !is_new(&pod) && pod.ready.0)).then_some(new)
    });
    let broken: Vec<_> = broken.collect();
    (broken.len() >= allowed).then_some(Surge { allowed, broken })
}

/// Returns the pods that block the update of a DaemonSet, if the update is clearly stuck.
///
/// Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go, counts a node with an unavailable new pod, and a node
/// whose pods are all being deleted, even if it should no longer have one. The status excludes such a node.
pub(in crate::rules) fn eats_budget<'a>(
    query: &StatusQuery<'a>,
    daemons: &Daemons<'a>,
) -> Option<Eaten<'a>> {
    let (spec, status) = (&daemons.set.spec, &daemons.set.status);
    let budget = Unavailability::of(spec, status)?;
    if status.updated_number_scheduled.unwrap_or_default() >= budget.desired {
        return None;
    }
    let min_ready = spec.min_ready_seconds.unwrap_or_default().into();
    let (mut dead, mut broken, mut ending) = (Vec::new(), Vec::new(), Vec::new());
    // All nodes that count, and the nodes whose available pods wait to be replaced.
    let (mut nodes, mut waiting) = (0, 0);
    for (node, placement, pods) in &daemons.nodes {
        if *placement == Placement::Runs || !pods.is_empty() {
            let mut there = pods.iter().copied().filter(|pod| pod.deleted.is_none());
            let counted = match (there.next(), pods.first()) {
                (Some(pod), _) => pod,
                (None, Some(pod)) => *pod,
                (None, None) => continue,
            };
            let is_available = counted.is_available(min_ready, query.audit.now);
            nodes += 1;
            if counted.deleted.is_none() && (is_available || !daemons.is_updated(counted)) {
                waiting += i32::from(is_available && !daemons.is_updated(counted));
                continue;
            }
            match node.not_ready {
                Some(since) if query.audit.is_long_ago(since) => dead.push((*node, counted)),
                None if counted.deleted.is_none()
                    && query.is_unready(counted)
                    && query.audit.is_long_ago(query.unready_since(counted)) =>
                {
                    broken.push(counted);
                }
                None if counted.deleted.is_some_and(|it| query.audit.is_long_ago(it)) => {
                    ending.push(counted);
                }
                _ => {}
            }
        }
    }
    let stuck = i64::try_from(dead.len() + broken.len() + ending.len()).unwrap_or(i64::MAX);
    let counted = Unavailability {
        desired: nodes.max(budget.desired),
        unavailable: budget.unavailable.max(i32::try_from(stuck).unwrap_or(i32::MAX)),
        ..budget
    };
    let is_stuck = stuck >= budget.allowed && waiting > 0;
    is_stuck.then_some(Eaten { budget, counted, dead, broken, ending })
}
