use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "on-delete-change", group: Rollout, cel: "cel.yaml";
    title: "running pods do not get this template",
    summary: "a changed template under OnDelete: running pods do not get it",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let object = &subject.object;
    let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
    let is_owned = owners.iter().any(|owner| owner.controller == Some(true));
    if is_owned || object.strategy() != Some("OnDelete") || !subject.template_changes(cluster) {
        return;
    }
    let message =
        "with OnDelete the changed template reaches a pod only when that pod is deleted by hand";
    let help = "delete the pods one by one, or use RollingUpdate";
    found.report(&UPDATE_STRATEGY.child("type"), Reason::Invalid, message, help);
}
