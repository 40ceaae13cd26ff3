//! `maxUnavailable` of a StatefulSet while its feature gate is off.

use super::read;
use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::ROLLING_UPDATE},
    kubernetes::cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET},
    object::{StatefulSetSpec, Subject},
    rules::rule::{ObjectCheck, OpenKruise, Operation, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "max-unavailable-ignored",
        summary: "maxUnavailable of a StatefulSet while its feature gate is off",
        why: "\
`updateStrategy.rollingUpdate.maxUnavailable` of a StatefulSet belongs to the feature gate
MaxUnavailableStatefulSet. While the gate is off the API server drops the field silently, unless the
stored object already has it, and the controller updates one pod at a time in any case. The gate has
existed since 1.24; it is on by default since 1.37, and was in 1.35.0 to 1.35.3. The rule ignores values
that amount to one pod: they change nothing.

Seen on a 1.36 control plane: `maxUnavailable: 2` is accepted, the stored object does not have it, and
the user gets no message. Only a mutating webhook sees the field.

Kubernetes: `dropStatefulSetDisabledFields`, pkg/registry/apps/statefulset/strategy.go;
`updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go.",
        bad: include_str!("examples/max-unavailable-ignored.bad.yaml"),
        good: include_str!("examples/max-unavailable-ignored.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::Before {
        operations: &[Operation::Create, Operation::Update],
        sent_if: "object.spec.?updateStrategy.?rollingUpdate.?maxUnavailable.orValue(1) != 1",
    },
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::StatefulSet(check),
    },
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let at_once = read::max_unavailable(spec).unwrap_or(1);
    if at_once < 2 || cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) {
        return;
    }
    found
        .report(
            &ROLLING_UPDATE.child("maxUnavailable"),
            Reason::Forbidden,
            format!(
                "it has no effect because the feature gate {} is off (Kubernetes {}): pods are \
             updated one at a time, not {at_once}",
                MAX_UNAVAILABLE_STATEFUL_SET, cluster.version,
            ),
            "leave it out, or enable the gate in kube-apiserver and kube-controller-manager",
        )
        .fixed_by(Fix::remove(&ROLLING_UPDATE.child("maxUnavailable")));
}
