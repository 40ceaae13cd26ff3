use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claims-deleted-on-scale-down", group: Data, cel: "cel.yaml";
    title: "scaling down deletes claims",
    summary: "a scale-down with whenScaled Delete: the claims of removed pods are deleted",
    scopes: [Scope::trap(OpenKruise::AppliesInOrder, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old().and_then(Object::stateful_set) else { return };
    let policy = spec.persistent_volume_claim_retention_policy.as_ref();
    let deletes = policy.and_then(|policy| policy.when_scaled.as_deref()) == Some("Delete");
    let Some((claim, _)) = read::claims(spec).next().filter(|_| deletes) else { return };
    let (mut before, after) = (read::ordinals(old), read::ordinals(spec));
    let retention = old.persistent_volume_claim_retention_policy.as_ref();
    let deleted = retention.and_then(|it| it.when_scaled.as_deref()) == Some("Delete");
    // Pods that an earlier change removes may still exist. Their claims were meant to stay.
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
