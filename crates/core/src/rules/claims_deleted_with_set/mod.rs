use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claims-deleted-with-set", group: Data, mode: Mode::Audit;
    title: "deleting the set deletes its claims",
    summary: "whenDeleted Delete, so that deleting the set deletes its claims with their data",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

/// Kubernetes: `updateClaimOwnerRefForSetAndPod`, pkg/controller/statefulset/stateful_set_utils.go.
fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let first = read::claims(spec).next().filter(|_| deletes_claims(spec));
    let Some((claim, _)) = first else { return };
    let path = SPEC.child("persistentVolumeClaimRetentionPolicy");
    let old = subject.old().and_then(|old| old.stateful_set());
    let is_new = old.is_some_and(|old| !deletes_claims(old));
    let from_now = if is_new { "from this change on, " } else { "" };
    let message = format!(
        "{from_now}deleting the set deletes its claims too, such as {claim}-{}-{}; so do `helm uninstall`, a tool that prunes, \
         and `kubectl replace --force`",
        subject.object.name(),
        read::ordinals(spec).start
    );
    let help = "set whenDeleted to Retain unless the data is safe elsewhere";
    found.report(&path.child("whenDeleted"), Reason::Invalid, message, help);
}

fn deletes_claims<T>(spec: &StatefulSetSpec<T>) -> bool {
    let policy = spec.persistent_volume_claim_retention_policy.as_ref();
    policy.and_then(|policy| policy.when_deleted.as_deref()) == Some("Delete")
}
