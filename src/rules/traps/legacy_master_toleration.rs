//! The toleration of the control plane's old name alone.

use k8s_openapi::api::core::v1::Toleration;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::TOLERATIONS},
    kubernetes::{cluster::Cluster, tolerations},
    object::Subject,
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "legacy-master-toleration",
        summary: "a toleration of the control plane's old taint without the new one",
        why: "\
Nodes of the control plane used to have the taint `node-role.kubernetes.io/master`. kubeadm gave them
`node-role.kubernetes.io/control-plane` beside it in 1.24, and nothing else from 1.25 on. A template that
tolerates the old name alone does not come to the control plane of a newer cluster, and nothing says so: a
DaemonSet does not want a pod there and counts as rolled out.

Seen on a 1.36 control plane: of three nodes, one with the new taint, a DaemonSet that tolerates the old
one wants two.

A cluster that still uses the old name needs both; the new one does no harm there.

Kubernetes: `NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/legacy-master-toleration.bad.yaml"),
        good: include_str!("examples/legacy-master-toleration.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Holds,
    check: Check::Both(check),
};

const OLD: &str = "node-role.kubernetes.io/master";
const NEW: &str = "node-role.kubernetes.io/control-plane";

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let list = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let Some(i) = list.iter().position(|it| it.key.as_deref() == Some(OLD)) else { return };
    // Who names the new one, be it with another effect, knows of it.
    let knows = |it: &Toleration| {
        it.key.as_deref() == Some(NEW) || tolerations::tolerates(it, NEW, "NoSchedule")
    };
    if list.iter().any(knows) {
        return;
    }
    found.report(
        &TOLERATIONS.index(i).child("key"),
        Reason::Invalid,
        format!("this brings no pod to a control plane whose nodes have the taint {NEW}"),
        format!("tolerate {NEW} too"),
    );
}
