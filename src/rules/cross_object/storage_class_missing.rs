//! A claim template that names a StorageClass that does not exist.

use super::missing::is_missing;
use crate::{
    finding::{Meta, Mode, Reason, paths::CLAIM_TEMPLATES},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "storage-class-missing",
        summary: "a claim template whose StorageClass does not exist, or that needs a default one",
        why: "\
Nothing provides volumes for a class that does not exist, so the claims stay Pending, and the pods with them.
A claim template cannot be changed later. The usual causes are the name of another provider's class, and a
class that was renamed.

Seen on a 1.36 control plane: the claim and the pod stay Pending, \"pod has unbound immediate
PersistentVolumeClaims\". A PersistentVolume that was created by hand can have the name of such a class, and
is then bound to the claim; the rule does not know PersistentVolumes.

A claim that names no class gets the default class when there is one. Until then nothing provides its volume.
Seen there: \"no persistent volumes available for this claim and no storage class is set\"; when a class
became the default, the claim got it. The rule says so only in a cluster that has StorageClasses, none of them
the default, and only if the claim asks for a new volume. In a cluster without any, people make their
PersistentVolumes by hand.

The webhook warns of this when the object is changed, and never denies. It says nothing when the object is
created, because the StorageClass is often applied with it, and may follow. `setguard
check` reports it if it gets the StorageClasses of the cluster with `--inventory`.

Kubernetes: `syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go.",
        bad: include_str!("examples/storage-class-missing.bad.yaml"),
        good: include_str!("examples/storage-class-missing.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(details) = query.item.details() else { return };
    let inventory = query.inventory();
    let lacks_default = query.knows_all(Kind::StorageClass)
        && inventory.has_any(Kind::StorageClass, "")
        && !inventory.has_default_class();
    for template in details.default_classes.iter().filter(|_| lacks_default) {
        found.report(
            Kind::StorageClass,
            &CLAIM_TEMPLATES.index(*template).child("spec").child("storageClassName"),
            Reason::Required,
            "no StorageClass of the cluster is the default one: the claims stay Pending, unless \
             PersistentVolumes without a class are made by hand",
            "name a StorageClass, or mark one as the default",
        );
    }
    for (template, name) in &details.storage_classes {
        if is_missing(query, Kind::StorageClass, name) {
            found.report(
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
