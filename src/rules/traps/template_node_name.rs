//! A template that names its node.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, resource::Kind},
    object::Subject,
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "template-node-name",
        summary: "a template with nodeName, which binds all pods to one node past the scheduler",
        why: "\
A pod that has `nodeName` is bound already: the scheduler never sees it, so nobody asks whether the node
has room, or a taint that the pod does not tolerate with effect NoSchedule. In a template it binds every
pod to the same node. A DaemonSet makes a pod on that node alone, and none at all where the node is missing
or has a taint that the template does not tolerate.

Seen on a 1.36 control plane: with `nodeName: cp-0`, which has the taint of the control plane, a DaemonSet
wants no pod; the pod of a StatefulSet is bound to it in spite of the taint.

Kubernetes: `NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go; `GetPodFromTemplate`,
pkg/controller/controller_utils.go.",
        bad: include_str!("examples/template-node-name.bad.yaml"),
        good: include_str!("examples/template-node-name.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Holds,
    check: Check::Both(check),
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let node = spec.and_then(|spec| spec.node_name.as_deref()).filter(|node| !node.is_empty());
    let Some(node) = node else { return };
    let message = match subject.object.kind() {
        Kind::DaemonSet => format!(
            "the daemon runs on node {node:?} only, and nowhere if that node is missing or has a \
             taint that the template does not tolerate"
        ),
        Kind::StatefulSet => format!(
            "all pods are bound to node {node:?} without the scheduler, whether it has room for \
             them or not, and stay Pending when it is missing"
        ),
    };
    found.report(
        &POD_SPEC.child("nodeName"),
        Reason::Forbidden,
        message,
        "leave nodeName out and choose nodes by nodeSelector or node affinity",
    );
}
