use crate::inventory::nodes::Nodes;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "immediate-binding-across-zones", group: NeverStarts;
    title: "volumes may be in the wrong zone",
    summary: "volumes whose zone is chosen first, for pods that need certain zones",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check }],
};

const ZONE: &str = "topology.kubernetes.io/zone";

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(requirement) = query.details.zones.filter(|_| !is_in_one_zone(query)) else { return };
    let inventory = query.inventory();
    let chooses = |item: &ObjectSummary| {
        query.counts(item) && item.class().is_some_and(|class| class.chooses_zones)
    };
    let mut report = |path: &Path<'_>, class: &ObjectSummary| {
        let message = format!(
            "the volume is made by {class} in any zone, before the zone of the pod is chosen, but the \
             pods are {requirement}: a pod whose volume is elsewhere stays Pending"
        );
        let help = "use a StorageClass with volumeBindingMode: WaitForFirstConsumer";
        found.via(Kind::StorageClass, path, Reason::Invalid, message, help);
    };
    for (template, name) in &query.details.storage_classes {
        let mut classes = inventory.named(Kind::StorageClass, "", name);
        if let Some(class) = classes.find(|item| chooses(item)) {
            report(&CLAIM_TEMPLATES.index(*template).below("spec.storageClassName"), class);
        }
    }
    let default = inventory.default_classes().next().filter(|item| chooses(item));
    for (template, class) in query.details.default_classes.iter().zip(default.into_iter().cycle()) {
        report(&CLAIM_TEMPLATES.index(*template).child("spec"), class);
    }
}

/// The input must have all Nodes.
fn is_in_one_zone(query: &Query<'_>) -> bool {
    let inventory = query.inventory();
    if !query.knows_nodes() {
        return false;
    }
    let mut first = None;
    !inventory.has_node(&Nodes::default(), |_, node| match (first, node.labels.get(ZONE)) {
        (_, None) => false,
        (None, zone) => {
            first = zone;
            false
        }
        (Some(first), Some(zone)) => first != zone,
    })
}
