//! Pods of a StatefulSet that are gone before they have ended.

use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "grace-period-zero",
        summary: "a StatefulSet whose pods are forgotten before they have stopped",
        why: "\
With `terminationGracePeriodSeconds: 0` a deleted pod vanishes from the API at once, while its processes
may go on running. The controller then creates the pod of the same name, perhaps on another node: two
members with one identity, one volume and one address. That a StatefulSet has at most one pod of each name
rests on the deletion being waited for; the Kubernetes documentation calls 0 unsafe.

Seen on a 1.36 control plane without any kubelet: the deleted pod is gone at once, and one of the same name
is bound to a node before anything could have been stopped.

A DaemonSet is left alone: its pods have no identity, and some node agents set 0 on purpose.

Kubernetes: `CheckGracefulDelete`, pkg/registry/core/pod/strategy.go.",
        bad: include_str!("examples/grace-period-zero.bad.yaml"),
        good: include_str!("examples/grace-period-zero.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Holds,
    check: Check::StatefulSet(check),
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let pod = spec.template.spec.as_ref();
    if pod.and_then(|pod| pod.termination_grace_period_seconds) != Some(0) {
        return;
    }
    found.report(
        &POD_SPEC.child("terminationGracePeriodSeconds"),
        Reason::Invalid,
        "a deleted pod is forgotten before its processes have stopped, so two pods may run \
         with the same name and volumes",
        "use the seconds that the process needs to stop; without the field it has 30",
    );
}
