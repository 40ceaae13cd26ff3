use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "max-unavailable-ignored", group: Rollout;
    title: "maxUnavailable is ignored",
    summary: "maxUnavailable of a StatefulSet while its feature gate is off",
    scopes: [Scope::Object {
        phase: Phase::Before {
            operations: &[Operation::Create, Operation::Update],
            sent_if: "object.spec.?updateStrategy.?rollingUpdate.?maxUnavailable.orValue(1) != 1",
        },
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::StatefulSet(check),
    }],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let at_once = read::max_unavailable(spec).unwrap_or(1);
    if at_once < 2 || cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) {
        return;
    }
    let message = format!(
        "it has no effect because the feature gate {} is off (Kubernetes {}): pods are \
         updated one at a time, not {at_once}",
        MAX_UNAVAILABLE_STATEFUL_SET, cluster.version,
    );
    let help = "leave it out, or enable the gate in kube-apiserver and kube-controller-manager";
    found
        .report(&ROLLING_UPDATE.child("maxUnavailable"), Reason::Forbidden, message, help)
        .planned_if(true)
        .removable(true);
}
