use crate::rules::autoscaler_fights_replicas::SCALERS;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "vertical-autoscaler-too-few-replicas", group: Rollout;
    title: "a VerticalPodAutoscaler needs more replicas",
    summary: "a VerticalPodAutoscaler that replaces no pod, or the only one",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Manifest, check }],
};

/// The default of the updater's `--min-replicas`.
const LEAST: i32 = 2;

/// Vertical Pod Autoscaler: `GetCreatorMaps`, pkg/updater/restriction/pods_restriction_factory.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let (item, kind) = (query.item, Kind::VerticalPodAutoscaler);
    let scaler = query.inventory().autoscaler(kind, item).filter(|_| query.details.replicas > 0);
    let Some((other, autoscaler)) = scaler else { return };
    let least = autoscaler.least.unwrap_or(LEAST);
    // A different autoscaler may keep more.
    let kept = SCALERS.into_iter().filter_map(|kind| query.inventory().autoscaler(kind, item));
    let count = kept.filter_map(|(_, it)| it.least).fold(query.details.replicas, i32::max);
    let replicas = SPEC.child("replicas");
    let field = if query.details.sets_replicas { &replicas } else { &POD_SPEC };
    if count < least {
        let default = if autoscaler.least.is_none() { ", the default of its updater" } else { "" };
        let message = format!(
            "its {other} replaces no pod of a set with fewer than {least} replicas{default}, so pods keep their \
             resources until something else replaces them"
        );
        let help = "set updatePolicy.minReplicas to the replicas, or updateMode to Initial; in the mode \
                    InPlaceOrRecreate, the updater's --in-place-skip-disruption-budget lifts the limit too";
        found.via(kind, field, Reason::Invalid, message, help);
    } else if count == 1 {
        let message =
            format!("its {other} evicts the only pod whenever the recommendation changes enough");
        let help = "set updateMode to Initial, and replace the pod when it suits";
        // The author has asked for it.
        found.via(kind, field, Reason::Invalid, message, help).noted_if(true);
    }
}
