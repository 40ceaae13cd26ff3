use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "autoscaler-fights-replicas",
    title: "replicas are set, and an autoscaler sets them",
    summary: "a StatefulSet that sets replicas, and an autoscaler that sets them too",
    group: Rollout,
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Manifest, check }],
};

/// A ScaledObject makes a HorizontalPodAutoscaler.
pub(super) const SCALERS: [Kind; 2] = [Kind::HorizontalPodAutoscaler, Kind::ScaledObject];

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let item = query.item;
    // Zero replicas turn the autoscaler off.
    let sets = item.details().is_some_and(|it| it.sets_replicas && it.replicas != 0);
    if !sets || item.kind() != Kind::StatefulSet {
        return;
    }
    let mut all = SCALERS.into_iter().filter_map(|kind| query.inventory().autoscaler(kind, item));
    let Some((other, autoscaler)) = all.find(|(other, _)| query.counts(other)) else { return };
    found.report(
        other.kind(),
        &SPEC.child("replicas"),
        Reason::Invalid,
        format!(
            "another writer of this field is {other}, with {} to {} replicas: each time the manifest is applied, it takes back what \
             the autoscaler has chosen",
            autoscaler.least.unwrap_or(1),
            autoscaler.most
        ),
        "leave out replicas; first remove it with kubectl apply edit-last-applied",
    );
}
