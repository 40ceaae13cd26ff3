use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "storage-class-missing", group: NeverStarts;
    title: "the StorageClass does not exist",
    summary: "a claim template whose StorageClass does not exist, or that needs a default one",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let inventory = query.inventory();
    let lacks_default = query.knows_all(Kind::StorageClass)
        && inventory.has_any(Kind::StorageClass, "")
        && inventory.default_classes().next().is_none();
    for template in query.details.default_classes.iter().filter(|_| lacks_default) {
        found.via(
            Kind::StorageClass,
            &CLAIM_TEMPLATES.index(*template).child("spec").child("storageClassName"),
            Reason::Required,
            "no StorageClass of the cluster is the default one: the claims stay Pending, unless \
             PersistentVolumes without a class are made by hand",
            "name a StorageClass, or mark one as the default",
        );
    }
    for (template, name) in &query.details.storage_classes {
        if is_missing(query, Kind::StorageClass, name) {
            found.via(
                Kind::StorageClass,
                &CLAIM_TEMPLATES.index(*template).child("spec").child("storageClassName"),
                Reason::NotFound,
                format!(
                    "{} no StorageClass {name}: the claims stay Pending, unless PersistentVolumes \
                     of this class are made by hand",
                    query.who_has()
                ),
                "add this StorageClass, or name one that exists",
            );
        }
    }
}
