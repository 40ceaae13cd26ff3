//! A template whose node selector no node matches.

use super::nodes::written;
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    inventory::{node::Node, nodes::Nodes},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "no-node-matches",
        summary: "a template whose node selector and affinity no node matches",
        why: "\
If no node has the labels that `nodeSelector` and the required node affinity ask for, a DaemonSet gets no
pods, and nothing looks wrong: a rollout of no pods is complete at once. The pods of a StatefulSet stay
Pending. The usual causes are a misspelt label, and one that newer releases no longer set, such as
`node-role.kubernetes.io/master`.

Seen on a 1.36 control plane, nodeSelector with a label of no node: for the DaemonSet `kubectl rollout status`
says \"successfully rolled out\" with 0 pods; the pod of the StatefulSet is Pending, \"2 node(s) didn't match
Pod's node affinity/selector\".

The webhook warns of this and never denies, because the node may be created a moment later: a pool of nodes
that is scaled to zero has no nodes until a pod wants one. It needs a view of the cluster that includes Nodes.
`setguard check` reports this if it gets the Nodes of the cluster with `--inventory`.

A DaemonSet gets no pods either if each of these nodes has a taint with the effect NoSchedule or NoExecute
that it does not tolerate. Not counted are taints that come and go by themselves: those of conditions, such as
`node.kubernetes.io/not-ready`, and those of nodes that start or are about to be removed.

Kubernetes: `RequiredNodeAffinity.Match`, component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go;
`NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/no-node-matches.bad.yaml"),
        good: include_str!("examples/no-node-matches.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet, Kind::StatefulSet], evidence: Evidence::Absence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(details) = query.item.details() else { return };
    let is_daemon_set = query.item.kind() == Kind::DaemonSet;
    // `node-not-wanted` names the nodes of a DaemonSet that the cluster has.
    let heeds_taints = is_daemon_set && !query.is_stored();
    let (field, nodes) = match &details.nodes {
        Some((field, nodes)) => (field, nodes),
        None if heeds_taints => (&"tolerations", &Nodes::default()),
        None => return,
    };
    let count = query.inventory().count(Kind::Node);
    if count == 0 || !query.knows(Kind::Node, "") {
        return;
    }
    let mut tainted = None;
    let accepts = |item, node: &'_ Node| {
        let against = node.taint_against(&details.tolerations).filter(|_| heeds_taints);
        if let Some(taint) = against {
            tainted.get_or_insert_with(|| (item, written(taint)));
        }
        against.is_none()
    };
    if query.inventory().has_node(nodes, accepts) {
        return;
    }
    if let Some((node, taint)) = tainted {
        found.report(
            Kind::Node,
            &POD_SPEC.child("tolerations"),
            Reason::Required,
            format!(
                "each node that it may run on has a taint that it does not tolerate, such as {taint} \
                 of {node}, so it gets no pods, and its rollout counts as complete"
            ),
            "tolerate the taint if the pods are meant for these nodes; otherwise select other nodes",
        );
        return;
    }
    let outcome = match query.item.kind() {
        Kind::DaemonSet => "it gets no pods, and its rollout counts as complete",
        _ => "its pods stay Pending",
    };
    found.report(
        Kind::Node,
        &POD_SPEC.child(field),
        Reason::NotFound,
        format!("none of the {count} nodes matches nodeSelector and node affinity, so {outcome}"),
        "correct them, unless nodes that match are added later, as to a pool that is scaled to zero",
    );
}
