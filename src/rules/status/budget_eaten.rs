//! Which pods hold up the update of a DaemonSet.

use super::daemons::Daemons;
use crate::{
    observed::{Node, Pod},
    rollout::node::Placement,
    rules::{rule::status::StatusQuery, waiting::Budget},
};

/// The pods that keep an update of a DaemonSet from going on.
pub(super) struct Eaten<'a> {
    pub(super) budget: Budget,
    /// The same as the controller counts: all nodes with pods, wanted there or not.
    pub(super) counted: Budget,
    /// Nodes that are not ready, with their pods.
    pub(super) dead: Vec<(&'a Node, &'a Pod)>,
    /// Pods of the current template that do not become ready, on nodes that are.
    pub(super) broken: Vec<&'a Pod>,
}

/// What keeps the update of a DaemonSet from going on, if it is clear that it does not move.
///
/// Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go: a node with a new pod that is not
/// available counts, and so does one of which all pods are being deleted, also if it should no longer
/// have one: the status leaves such a node out.
pub(super) fn eats_budget<'a>(query: &StatusQuery<'a>, daemons: &Daemons<'a>) -> Option<Eaten<'a>> {
    let (spec, status) = (&daemons.set.spec, &daemons.set.status);
    let budget = Budget::of(spec, status)?;
    if status.updated_number_scheduled.unwrap_or_default() >= budget.desired {
        return None;
    }
    let min_ready = spec.min_ready_seconds.unwrap_or_default().into();
    let (mut dead, mut broken) = (Vec::new(), Vec::new());
    // Nodes, and those whose pods wait to be replaced.
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
                    && !counted.ready.0
                    && query.audit.is_long_ago(query.unready_since(counted)) =>
                {
                    broken.push(counted);
                }
                _ => {}
            }
        }
    }
    let stuck = i64::try_from(dead.len() + broken.len()).unwrap_or(i64::MAX);
    let counted = Budget {
        desired: nodes.max(budget.desired),
        unavailable: budget.unavailable.max(i32::try_from(stuck).unwrap_or(i32::MAX)),
        ..budget
    };
    let is_stuck = stuck >= budget.allowed && waiting > 0;
    is_stuck.then_some(Eaten { budget, counted, dead, broken })
}
