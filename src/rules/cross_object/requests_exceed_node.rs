//! Pods that request more than a node has.

use super::nodes::MatchingNodes;
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    inventory::resources::Resources,
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "requests-exceed-node",
        summary: "pods that request more CPU or memory than the nodes for them have",
        why: "\
A DaemonSet gets a pod on each of its nodes, whatever their size. On a node that has less CPU or memory for
all pods together than one pod requests, the pod stays Pending, and the rollout does not end. The pods of a
StatefulSet stay Pending if no node is large enough. Neither is helped by evicting other pods.

Seen on a 1.37 control plane: a node with 500m CPU and a DaemonSet that requests one; its pod is Pending, \"1
Insufficient cpu\", \"Preemption is not helpful for scheduling\".

Requests are counted as the scheduler counts them: the containers and sidecars together, or an init container
if that is more, and the overhead; a limit without a request is a request. They are compared with what the
node has for pods, `status.allocatable`. What other pods request is left out: it changes.

The webhook needs a view that includes Nodes (`inventory.mode: full`), and `setguard check` the Nodes of the
cluster in `--inventory`. For a StatefulSet a larger node may be added later, so the webhook never denies it.

Kubernetes: `fitsRequest`, pkg/scheduler/framework/plugins/noderesources/fit.go; `PodRequests`,
component-helpers resource/helpers.go.",
        bad: include_str!("examples/requests-exceed-node.bad.yaml"),
        good: include_str!("examples/requests-exceed-node.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        evidence: Evidence::Absence,
        check,
    },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(details) = query.item.details() else { return };
    // The message of the scheduler says it once the pods exist.
    if query.is_stored() || query.inventory().count(Kind::Node) == 0 || !query.knows(Kind::Node, "")
    {
        return;
    }
    let is_daemon = query.item.kind() == Kind::DaemonSet;
    let wanted = details.requests;
    let (mut small, mut most) = (MatchingNodes::default(), Resources::default());
    let fits = query.inventory().has_node(&details.allowed_nodes(), |item, node| {
        if is_daemon && node.taint_against(&details.tolerations).is_some() {
            return false;
        }
        // A node of unknown size may be large enough.
        let Some(allocatable) = node.allocatable.as_deref() else { return !is_daemon };
        let is_small = wanted.cpu > allocatable.cpu || wanted.memory > allocatable.memory;
        if is_small {
            small.add(item);
            most = most.max(*allocatable);
        }
        !is_small && !is_daemon
    });
    if small.count() == 0 || fits {
        return;
    }
    let message = match (is_daemon, small.count()) {
        (true, 1) => format!(
            "a pod requests {wanted}, but {small} has only {most} for all pods: there it stays Pending"
        ),
        (true, _) => format!(
            "a pod requests {wanted}, but {small} have at most {most} for all pods: there it stays Pending"
        ),
        (false, _) => format!(
            "a pod requests {wanted}, but {small}, on which it may run, have at most {most} for all pods, so it stays Pending"
        ),
    };
    let help = if is_daemon {
        "lower the requests, or exclude these nodes by a nodeSelector or node affinity"
    } else {
        "lower the requests, or add larger nodes"
    };
    found.report(Kind::Node, &POD_SPEC, Reason::Invalid, message, help);
}
