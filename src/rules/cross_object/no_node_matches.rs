//! A template whose node selector no node matches.

use super::rule::{Asked, Evidence, Found, Rule};
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    inventory::kind::Kind,
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
`setguard check` reports this if one run gets Nodes. Taints are not looked at.

Kubernetes: `RequiredNodeAffinity.Match`, component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go;
`NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/no-node-matches.bad.yaml"),
        good: include_str!("examples/no-node-matches.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    kinds: &["DaemonSet", "StatefulSet"],
    evidence: Evidence::Absence,
    check,
};

fn check(asked: &Asked<'_>, found: &mut Found) {
    let Some(judged) = asked.item.judged() else { return };
    let Some((field, nodes)) = &judged.nodes else { return };
    let count = asked.inventory().count(Kind::Node);
    if count == 0 || !asked.knows(Kind::Node, "") || asked.inventory().has_node(nodes) {
        return;
    }
    let outcome = match asked.item.kind() {
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
