//! S14: fewer replicas, and their data goes with them.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
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
        bad: include_str!("claims_deleted_on_scale_down.bad.yaml"),
        good: include_str!("claims_deleted_on_scale_down.good.yaml"),
        mode: Mode::Warn,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
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
    let path = Path::new("spec");
    let path = path.child("persistentVolumeClaimRetentionPolicy");
    found.report(
        &path.child("whenScaled"),
        Reason::Invalid,
        format!(
            "this update removes {gone}, and with whenScaled Delete the claims of what it removes \
             go too, {claim}-{name}-{first} for one"
        ),
        "set whenScaled to Retain unless the data is safe elsewhere",
    );
}
