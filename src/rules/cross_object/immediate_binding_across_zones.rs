//! Volumes that are made in a zone before the zone of their pod is chosen.

use crate::{
    finding::{Meta, Mode, Path, Reason, paths::CLAIM_TEMPLATES},
    inventory::{nodes::Nodes, object_summary::ObjectSummary},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "immediate-binding-across-zones",
        summary: "volumes whose zone is chosen before their pods, which need certain zones",
        why: "\
With `volumeBindingMode: Immediate`, the default, a volume is made as soon as its claim exists, in a zone that
nothing of the pod decides. The pod can then only run in that zone. If its pods must be spread over zones, or
be in a certain zone, the zone of the volume may not be the right one: the pod stays Pending, and the claim
has to be deleted with its data. With `WaitForFirstConsumer` the scheduler chooses the node first.

Seen on a 1.37 control plane, two zones, two replicas spread over them with DoNotSchedule: both claims are
bound to volumes of the first zone, and one pod is Pending, \"1 node(s) didn't match PersistentVolume's node
affinity, 1 node(s) didn't match pod topology spread constraints\". With WaitForFirstConsumer there is a volume
in each zone.

This is reported for classes of disks that only one zone can use, such as `ebs.csi.aws.com`, without
`allowedTopologies`, if the template requires zones by topology spread, pod affinity, anti-affinity, or a node
selector. If Nodes are known, they must have more than one zone. The mode of a class cannot be changed: add
another class.

Kubernetes: `syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go; `checkBoundClaims`,
pkg/scheduler/framework/plugins/volumebinding/binder.go.",
        bad: include_str!("examples/immediate-binding-across-zones.bad.yaml"),
        good: include_str!("examples/immediate-binding-across-zones.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check },
};

/// The label of a node with its zone.
const ZONE: &str = "topology.kubernetes.io/zone";

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(details) = query.item.details() else { return };
    let Some(requirement) = details.zones.filter(|_| !is_in_one_zone(query)) else { return };
    let inventory = query.inventory();
    let chooses = |item: &ObjectSummary| {
        query.counts(item) && item.class().is_some_and(|class| class.chooses_zones)
    };
    let mut report = |path: &Path<'_>, class: &ObjectSummary| {
        found.report(
            Kind::StorageClass,
            path,
            Reason::Invalid,
            format!(
                "the volume is made by {class} in any zone, before the zone of the pod is chosen, but the \
                 pods are {requirement}: a pod whose volume is elsewhere stays Pending"
            ),
            "use a StorageClass with volumeBindingMode: WaitForFirstConsumer",
        );
    };
    for (template, name) in &details.storage_classes {
        let mut classes = inventory.named(Kind::StorageClass, "", name);
        if let Some(class) = classes.find(|item| chooses(item)) {
            let path = CLAIM_TEMPLATES.index(*template);
            report(&path.child("spec").child("storageClassName"), class);
        }
    }
    let default = inventory.default_classes().next().filter(|item| chooses(item));
    for (template, class) in details.default_classes.iter().zip(default.into_iter().cycle()) {
        report(&CLAIM_TEMPLATES.index(*template).child("spec"), class);
    }
}

/// Returns whether all Nodes are known and have the same zone.
fn is_in_one_zone(query: &Query<'_>) -> bool {
    let inventory = query.inventory();
    if inventory.count(Kind::Node) == 0 || !query.knows(Kind::Node, "") {
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
