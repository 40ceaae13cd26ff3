//! S23, D8: a template that names its node.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason},
    kubernetes::{cluster::Cluster, resource::Kind},
    object::Subject,
    rules::trap::{Phase, Trap},
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
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
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
    read::at_pod_spec(|path| {
        found.report(
            &path.child("nodeName"),
            Reason::Forbidden,
            message,
            "leave nodeName out and choose nodes by nodeSelector or node affinity",
        );
    });
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      nodeName: worker-0
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      nodeSelector: {kubernetes.io/hostname: worker-0}
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";
