//! A claim template with an empty storage class. It does not get the default class.

use crate::object::storage::OLD_CLASS_ANNOTATION;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-without-class", group: NeverStarts, cel: "cel.yaml";
    title: "nothing provisions volumes of the empty class",
    summary: "a claim template with an empty storageClassName: nothing provisions its volumes",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if subject.is_update {
        return;
    }
    for (i, (name, claim)) in read::claims(spec).enumerate() {
        let Some(wanted) = &claim.spec else { continue };
        let annotated = claim.metadata.annotations.iter().flatten();
        let annotated = annotated.into_iter().any(|(key, _)| key == OLD_CLASS_ANNOTATION);
        let named = wanted.volume_name.as_deref().is_some_and(|name| !name.is_empty());
        let empty = wanted.storage_class_name.as_deref() == Some("");
        let is_fault = empty && !named && !annotated && wanted.selector.is_none();
        if is_fault && !subject.has_volumes_without_class() {
            found.report(
                &CLAIM_TEMPLATES.index(i).child("spec").child("storageClassName"),
                Reason::Invalid,
                format!(
                    "with an empty class nothing provisions a volume for the claim {name:?}, and \
                     the pods stay Pending until the volumes are created by hand"
                ),
                "leave it out for the default class, or add a selector for volumes created by hand",
            )
    .removable(false);
        }
    }
}
