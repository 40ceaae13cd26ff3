//! A scale-down that deletes the claims of the removed pods.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{Object, StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Operation, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "claims-deleted-on-scale-down",
        summary: "a scale-down with whenScaled Delete, which deletes the claims of removed pods",
        why: "\
With `persistentVolumeClaimRetentionPolicy.whenScaled: Delete` a scale-down deletes the claims of the
pods that it removes, and with the usual reclaim policy of a storage class their data too. By default
claims are retained, and reused when the StatefulSet grows again. The policy itself isn't a reason to
warn; this rule warns when an update is about to delete claims, also those of pods that an earlier change
removes and that still exist. It cannot see `kubectl scale` and
autoscalers, which use the scale subresource; the limits of a policy can.

Seen on a 1.36 control plane: when one update changes 2 replicas and Retain to 1 replica and Delete,
the claim of the second pod is deleted with the pod.

Kubernetes: `fixPodClaim` in `updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go;
`updateClaimOwnerRefForSetAndPod`, stateful_set_utils.go.",
        bad: include_str!("examples/claims-deleted-on-scale-down.bad.yaml"),
        good: include_str!("examples/claims-deleted-on-scale-down.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::AppliesInOrder,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@.spec.?persistentVolumeClaimRetentionPolicy.?whenScaled.orValue('') == 'Delete' && \
        @.spec.?volumeClaimTemplates.orValue([]).size() > 0 && \
        oldObject.spec.?replicas.orValue(1) > 0 && (@start > \
        oldObject.spec.?ordinals.?start.orValue(0) || @start + @replicas < \
        oldObject.spec.?ordinals.?start.orValue(0) + oldObject.spec.?replicas.orValue(1))",
    message: "'this update removes pods, and whenScaled Delete also deletes the claims of each \
        removed pod'",
    help: "set whenScaled to Retain unless the data is safe elsewhere",
    only: Some(Operation::Update),
    misses: Some("pods that an earlier change removes and that still exist"),
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old().and_then(Object::stateful_set) else { return };
    let policy = spec.persistent_volume_claim_retention_policy.as_ref();
    let deletes = policy.and_then(|policy| policy.when_scaled.as_deref()) == Some("Delete");
    let Some((claim, _)) = read::claims(spec).next().filter(|_| deletes) else { return };
    let (mut before, after) = (read::ordinals(old), read::ordinals(spec));
    let retention = old.persistent_volume_claim_retention_policy.as_ref();
    let deleted = retention.and_then(|it| it.when_scaled.as_deref()) == Some("Delete");
    // Pods that an earlier change removes, and that still exist: their claims were to stay.
    let status = subject.old().and_then(read::stateful_set_status).filter(|_| !deleted);
    let exist = before.start + status.map_or(0, |it| i64::from(it.replicas));
    before.end = before.end.max(exist);
    let removed = read::removed(&before, &after);
    let Some(first) = removed.iter().find(|range| !range.is_empty()).map(|range| range.start)
    else {
        return;
    };
    let name = subject.object.name();
    let gone = read::removed_names(name, &removed);
    found.report(
        &SPEC.child("persistentVolumeClaimRetentionPolicy").child("whenScaled"),
        Reason::Invalid,
        format!(
            "this update removes {gone}, and whenScaled Delete also deletes the claims of each \
             removed pod, such as {claim}-{name}-{first}"
        ),
        "set whenScaled to Retain unless the data is safe elsewhere",
    );
}
