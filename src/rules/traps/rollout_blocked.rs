//! A rollout that cannot begin because too many pods are unavailable already.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{DaemonSetSpec, Subject},
    rules::{
        rollout_waits::Unavailability,
        rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "rollout-blocked",
        summary: "a changed template while maxUnavailable pods are unavailable already",
        why: "\
A rolling update replaces unavailable pods first, and then others, as long as no more than `maxUnavailable`
pods are unavailable. If that many are unavailable already and stay so, because their nodes are down, full or
broken, the update reaches no other pod. The default is 1: one dead node is enough. A pod on a dead node
cannot even be deleted, and that node still counts as unavailable.

Seen on a 1.36 control plane, two nodes, `maxUnavailable: 1`, one node dead, then a new template: the pod on
the dead node stays Terminating, the pod on the other node keeps the old template, and
`kubectl rollout status` waits.

The rule reads the stored status, and reports only while no rollout is in progress: during a rollout it is
normal that this many pods are unavailable.

Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go.",
        bad: include_str!("examples/rollout-blocked.bad.yaml"),
        good: include_str!("examples/rollout-blocked.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::DaemonSet(check),
    },
};

fn check(spec: &DaemonSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(status) = subject.old().and_then(read::daemon_set_status) else { return };
    let Some(budget) = Unavailability::of(spec, &status).filter(Unavailability::is_used_up) else {
        return;
    };
    let was_on_delete = subject.old().and_then(read::strategy) == Some("OnDelete");
    let updated = status.updated_number_scheduled.unwrap_or_default();
    if (was_on_delete || updated == budget.desired) && read::begins(subject, cluster) {
        found.report(
            &SPEC.child("template"),
            Reason::Invalid,
            budget.consequence(),
            "repair or remove the nodes of those pods, or raise maxUnavailable",
        );
    }
}
