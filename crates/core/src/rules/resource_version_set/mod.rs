use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "resource-version-set", group: Refused, mode: Mode::Audit;
    title: "this manifest applies to one version only",
    summary: "metadata.resourceVersion in a manifest: later applies are refused",
    scopes: [Scope::Object {
        phase: Phase::Manifest,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    }],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let metadata = &subject.object.metadata;
    // The output of a cluster applies to its version.
    let old = subject.old().and_then(|it| it.metadata.resource_version.as_deref());
    if metadata.is_stored() && old != metadata.resource_version.as_deref() {
        let message = "with it, kubectl apply fails with a conflict as soon as the object in the cluster has changed";
        let help = "remove it and the other fields that the API server writes: uid, generation, creationTimestamp, \
                    status";
        let path = METADATA.child("resourceVersion");
        found.report(&path, Reason::Invalid, message, help).removable(false);
    }
}
