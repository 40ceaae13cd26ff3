use crate::inventory::object_summary::Autoscaler;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "autoscaler-fights-replicas", group: Rollout;
    title: "replicas are set, and an autoscaler sets them",
    summary: "an autoscaler, and a StatefulSet or a second autoscaler that sets replicas too",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Manifest, check }],
};

/// A ScaledObject makes a HorizontalPodAutoscaler.
pub(super) const SCALERS: [Kind; 2] = [Kind::HorizontalPodAutoscaler, Kind::ScaledObject];

fn check(query: &Query<'_>, found: &mut Findings) {
    let item = query.item;
    // Zero replicas turn the autoscaler off.
    if query.details.replicas == 0 {
        return;
    }
    let all = SCALERS.into_iter().flat_map(|kind| query.inventory().autoscalers(kind, item));
    let is_of_set = |it: &(&ObjectSummary, &Autoscaler)| &*it.1.kind == item.kind().as_str();
    let all: Vec<_> = all.filter(|it| is_of_set(it) && query.counts(it.0)).collect();
    // The same object may be in two files.
    let id = |it: &ObjectSummary| (it.kind(), it.name().to_owned());
    let alone: BTreeMap<_, _> =
        all.iter().filter(|it| !it.1.is_shared).map(|it| (id(it.0), it.0)).collect();
    if let [one, another, ..] = alone.into_values().collect::<Vec<_>>()[..] {
        let replicas = SPEC.child("replicas");
        let field = if query.details.sets_replicas { &replicas } else { &POD_SPEC };
        let message = format!(
            "both {one} and {another} scale it, so neither does: each stops with AmbiguousSelector"
        );
        let help = "keep one of them, with the metrics of both";
        found.via(another.kind(), field, Reason::Invalid, message, help);
        return;
    }
    let Some((other, autoscaler)) = all.first().filter(|_| query.details.sets_replicas) else {
        return;
    };
    let message = format!(
        "another writer of this field is {other}, with {} to {} replicas: each time the manifest is applied, it takes back what \
         the autoscaler has chosen",
        autoscaler.least.unwrap_or(1),
        autoscaler.most
    );
    let help = "leave out replicas; first remove it with kubectl apply edit-last-applied";
    found.via(other.kind(), &SPEC.child("replicas"), Reason::Invalid, message, help);
}
