//! Pods of a StatefulSet that disappear from the API before they have stopped.

use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "grace-period-zero",
        summary: "a StatefulSet whose pods disappear from the API before they have stopped",
        why: "\
With `terminationGracePeriodSeconds: 0` a deleted pod disappears from the API at once, while its processes
may still be running. The controller then creates a pod of the same name, perhaps on another node: two
members with one identity, one volume and one address. A StatefulSet has at most one pod of each name only
because a deletion waits until the pod has stopped; the Kubernetes documentation calls 0 unsafe.

Seen on a 1.36 control plane without any kubelet: the deleted pod disappears at once, and one of the same
name is bound to a node before anything could have been stopped.

DaemonSets are exempt: their pods have no identity, and some node agents set 0 on purpose.

Kubernetes: `CheckGracefulDelete`, pkg/registry/core/pod/strategy.go.",
        bad: include_str!("examples/grace-period-zero.bad.yaml"),
        good: include_str!("examples/grace-period-zero.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@pod.?terminationGracePeriodSeconds.orValue(30) == 0",
    message: "'a deleted pod disappears from the API before its processes have stopped, so two \
        pods may run with the same name and volumes'",
    help: "set the seconds that the process needs to stop; the default is 30",
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let pod = spec.template.spec.as_ref();
    if pod.and_then(|pod| pod.termination_grace_period_seconds) != Some(0) {
        return;
    }
    found
        .report(
            &POD_SPEC.child("terminationGracePeriodSeconds"),
            Reason::Invalid,
            "a deleted pod disappears from the API before its processes have stopped, so two pods \
         may run with the same name and volumes",
            "set the seconds that the process needs to stop; the default is 30",
        )
        .fixed_by(Fix::use_default(&POD_SPEC.child("terminationGracePeriodSeconds")));
}
