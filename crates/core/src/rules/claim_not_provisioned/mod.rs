use crate::inventory::details::ClaimNeed;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-not-provisioned", group: NeverStarts;
    title: "the StorageClass makes no such volume",
    summary: "a claim template with a StorageClass whose driver makes no volume for it",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check }],
};

/// Drivers of disks. They share a file system among nodes neither alone nor with parameters of the class.
const DISKS: [&str; 7] = [
    "csi.hetzner.cloud", "disk.csi.azure.com", "dobs.csi.digitalocean.com", "ebs.csi.aws.com",
    "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io",
];

fn check(query: &Query<'_>, found: &mut Findings) {
    // Existing claims show whether they are bound.
    if query.details.claim_needs.is_empty() || query.is_stored() || query.old().is_some() {
        return;
    }
    let inventory = query.inventory();
    let has_volumes = inventory.count(Kind::PersistentVolume) > 0;
    for (template, need) in &query.details.claim_needs {
        let named = query.details.storage_classes.iter().find(|(at, _)| at == template);
        let class = match named {
            Some((_, name)) => inventory.named(Kind::StorageClass, "", name).next(),
            None => inventory.default_classes().next(),
        };
        let Some(class) = class.filter(|it| query.counts(it)) else { continue };
        let provisioner = class.class().map_or("", |it| &*it.provisioner);
        let (message, help) = match need {
            // The webhook reads no PersistentVolumes.
            ClaimNeed::Selector
                if provisioner != NONE && !has_volumes && !query.knows_all(Kind::StorageClass) =>
            {
                (selects(class), NO_SELECTOR)
            }
            ClaimNeed::ManyWriters if DISKS.contains(&provisioner) => {
                (shares(class, provisioner), NO_SHARING)
            }
            _ => continue,
        };
        let path = CLAIM_TEMPLATES.index(*template);
        found.via(Kind::StorageClass, &path.child("spec"), Reason::Invalid, message, help);
    }
}

const NONE: &str = "kubernetes.io/no-provisioner";
const NO_SELECTOR: &str = "leave out selector";
const NO_SHARING: &str = "use ReadWriteOnce, or the class of a shared file system such as NFS, CephFS, EFS or Azure Files";

fn selects(class: &ObjectSummary) -> String {
    format!(
        "no volume is made by {class} for a claim with a selector: the claims stay Pending, unless PersistentVolumes \
         of this class with such labels are made by hand"
    )
}

fn shares(class: &ObjectSummary, provisioner: &str) -> String {
    format!(
        "{provisioner} of {class} makes disks, and no file system that several nodes write: with ReadWriteMany the \
         claims stay Pending"
    )
}
