//! Gates that every pod waits behind.

use super::read;
use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
    validation::created_pod,
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "template-scheduling-gates",
        summary: "a template with schedulingGates, behind which every pod waits",
        why: "\
The scheduler does not look at a pod that has scheduling gates. Each pod that is created from the template
waits until its gates are removed. This has to be done for each pod, also for one that replaces a broken
pod. A gate is meant to be set when a pod is created, by a webhook whose controller removes it later.

Seen on a 1.36 control plane: the pods of a DaemonSet and of a StatefulSet with `schedulingGates` in the
template stay Pending with the reason SchedulingGated; the DaemonSet reports desired 2, ready 0.

Kubernetes: `SchedulingGates.PreEnqueue`,
pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go.",
        bad: include_str!("examples/template-scheduling-gates.bad.yaml"),
        good: include_str!("examples/template-scheduling-gates.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@pod.?schedulingGates.orValue([]).size() > 0 && @pod.?nodeName.orValue('') == ''",
    message: "'no pod is scheduled until you remove ' + @pod.schedulingGates.map(g, \
        g.name).join(', ') + ' from it, again for each new pod'",
    help: "leave the gates out of the template, and let a webhook put them on pods",
    ..Cel::EMPTY
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    let gates = spec.scheduling_gates.as_deref().unwrap_or_default();
    // With a node as well, no pod is created that could wait.
    if gates.is_empty() || created_pod::is_bound_and_gated(spec) {
        return;
    }
    let names: Vec<_> = gates.iter().map(|gate| gate.name.as_str()).collect();
    found
        .report(
            &POD_SPEC.child("schedulingGates"),
            Reason::Forbidden,
            format!(
                "no pod is scheduled until you remove {} from it, again for each new pod",
                names.join(", ")
            ),
            "leave the gates out of the template, and let a webhook put them on pods",
        )
        .fixed_by(Fix::use_default(&POD_SPEC.child("schedulingGates")));
}
