//! A StatefulSet whose manifest sets the replicas that an autoscaler sets too.

use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    inventory::object_summary::Autoscaler,
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "autoscaler-fights-replicas",
        summary: "a StatefulSet that sets replicas, and an autoscaler that sets them too",
        why: "\
Each time the manifest is applied, `replicas` goes back to its number, whatever the HorizontalPodAutoscaler
has chosen: pods that are in use are deleted, and created again once the autoscaler looks. GitOps controllers
that correct what differs do so without end. Without `replicas` in the manifest the API server keeps the
number that the autoscaler has set.

Seen on a 1.37 control plane: `replicas: 2` and `minReplicas: 4`; the autoscaler sets 4, applying the same
manifest again deletes two pods, and seconds later there are 4 again.

A manifest that was applied with `replicas` once should not just lose the line: `kubectl apply` then sets the
default, 1, also seen there. First remove it from the last applied configuration, with `kubectl apply
edit-last-applied`.

`setguard check` reports this if both are applied together. The webhook cannot: a stored object always has the
field.

Kubernetes: `reconcileAutoscaler`, pkg/controller/podautoscaler/horizontal.go; \"Migrating Deployments and
StatefulSets to horizontal autoscaling\" in the documentation of HorizontalPodAutoscaler.",
        bad: include_str!("examples/autoscaler-fights-replicas.bad.yaml"),
        good: include_str!("examples/autoscaler-fights-replicas.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Manifest, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let (item, kind) = (query.item, Kind::HorizontalPodAutoscaler);
    // Zero replicas turn the autoscaler off.
    let sets = item.details().is_some_and(|it| it.sets_replicas && it.replicas != 0);
    if !sets || item.kind() != Kind::StatefulSet {
        return;
    }
    let scales = |autoscaler: &Autoscaler| {
        &*autoscaler.kind == "StatefulSet" && &*autoscaler.name == item.name()
    };
    let mut all = query.inventory().in_namespace(kind, item.namespace());
    let first = all.find_map(|other| Some((other, other.autoscaler().filter(|it| scales(it))?)));
    let Some((other, autoscaler)) = first.filter(|(other, _)| query.counts(other)) else { return };
    found.report(
        kind,
        &SPEC.child("replicas"),
        Reason::Invalid,
        format!(
            "another writer of this field is {other}, with {} to {} replicas: each time the manifest is applied, it takes back what \
             the autoscaler has chosen",
            autoscaler.least, autoscaler.most
        ),
        "leave out replicas; first remove it with kubectl apply edit-last-applied",
    );
}
