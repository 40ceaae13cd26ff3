//! Settings for rolling updates that OnDelete ignores.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::UPDATE_STRATEGY},
    kubernetes::cluster::Cluster,
    object::{DaemonSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "on-delete-ignores-rolling-update",
        summary: "a DaemonSet with settings for rolling updates under OnDelete",
        why: "\
With `updateStrategy.type: OnDelete` the block `rollingUpdate` has no effect: a pod is replaced only when
it is deleted by hand. The API server does not even validate the block, so it accepts values that it would
otherwise refuse. Users who write the block expect rolling updates.

The rule ignores a block that contains only the defaults: it stays behind when the type of an existing object
is changed. The API server stores an empty block as `maxUnavailable: 0, maxSurge: 0`, which is ignored too.

Seen on a 1.36 control plane: `type: OnDelete` with `maxUnavailable: 300%` and `maxSurge: 3` is accepted and
stored unchanged. For a StatefulSet the API server refuses the block.

Kubernetes: `ValidateDaemonSetUpdateStrategy`, pkg/apis/apps/validation/validation.go.",
        bad: include_str!("examples/on-delete-ignores-rolling-update.bad.yaml"),
        good: include_str!("examples/on-delete-ignores-rolling-update.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::DaemonSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@.spec.?updateStrategy.?type.orValue('') == 'OnDelete' && \
        @.spec.updateStrategy.?rollingUpdate.hasValue() && \
        (!(@.spec.updateStrategy.rollingUpdate.?maxUnavailable.orValue(dyn(1)) in [dyn(0), dyn(1)]) || \
        @.spec.updateStrategy.rollingUpdate.?maxSurge.orValue(dyn(0)) != dyn(0))",
    message: "'rollingUpdate is ignored with type OnDelete: a pod is replaced when it is deleted \
        by hand'",
    help: "use type RollingUpdate, or leave rollingUpdate out",
    ..Cel::EMPTY
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(strategy) = &spec.update_strategy else { return };
    let Some(rolling) = &strategy.rolling_update else { return };
    let is = |value: &Option<IntOrString>, defaults: &[i32]| match value {
        None => true,
        Some(IntOrString::Int(number)) => defaults.contains(number),
        Some(IntOrString::String(_)) => false,
    };
    let is_default = is(&rolling.max_unavailable, &[0, 1]) && is(&rolling.max_surge, &[0]);
    if strategy.type_.as_deref() != Some("OnDelete") || is_default {
        return;
    }
    found.report(
        &UPDATE_STRATEGY.child("rollingUpdate"),
        Reason::Forbidden,
        "rollingUpdate is ignored with type OnDelete: a pod is replaced when it is deleted by hand",
        "use type RollingUpdate, or leave rollingUpdate out",
    )
    .fixed_by(Fix::remove(&UPDATE_STRATEGY.child("rollingUpdate")));
}
