//! Fewer replicas, and their data goes with them.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "claims-deleted-on-scale-down",
        summary: "fewer replicas with whenScaled Delete: the claims of the last pods are deleted",
        why: "\
With `persistentVolumeClaimRetentionPolicy.whenScaled: Delete` the claims of the pods that are scaled
away are deleted with them, and with the usual reclaim policy of a storage class so is the data. By
default they are retained and found again when the StatefulSet grows. The policy itself is nothing to
warn of; this speaks when an update is about to delete claims. It cannot see `kubectl scale` and
autoscalers: they use another resource.

Seen on a 1.36 control plane: 2 replicas and Retain, then 1 replica and Delete in one and the same
update; the claim of the second pod is gone with the pod.

Kubernetes: `fixPodClaim` in `updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go;
`updateClaimOwnerRefForSetAndPod`, stateful_set_utils.go.",
        bad: include_str!("examples/claims-deleted-on-scale-down.bad.yaml"),
        good: include_str!("examples/claims-deleted-on-scale-down.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::HoldsInOrder,
    check: Check::StatefulSet(check),
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old().and_then(read::stateful_set) else { return };
    let policy = spec.persistent_volume_claim_retention_policy.as_ref();
    let deletes = policy.and_then(|policy| policy.when_scaled.as_deref()) == Some("Delete");
    let Some((claim, _)) = read::claims(spec).next().filter(|_| deletes) else { return };
    let (before, after) = (read::ordinals(old), read::ordinals(spec));
    let low = before.start..after.start.clamp(before.start, before.end);
    let high = after.end.clamp(low.end, before.end)..before.end;
    let name = subject.object.name();
    let gone = match (low.is_empty(), high.is_empty()) {
        (true, true) => return,
        (false, true) => read::pod_names(name, &low),
        (true, false) => read::pod_names(name, &high),
        (false, false) => {
            format!("{}, {}", read::pod_names(name, &low), read::pod_names(name, &high))
        }
    };
    let first = if low.is_empty() { high.start } else { low.start };
    found.report(
        &SPEC.child("persistentVolumeClaimRetentionPolicy").child("whenScaled"),
        Reason::Invalid,
        format!(
            "this update removes {gone}, and with whenScaled Delete the claims of what it removes \
             go too, {claim}-{name}-{first} for one"
        ),
        "set whenScaled to Retain unless the data is safe elsewhere",
    );
}
