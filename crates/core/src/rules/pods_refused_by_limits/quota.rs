//! A ResourceQuota: pkg/quota/v1/evaluator/core/{pods,persistent_volume_claims}.go.

use super::{Refusal, amount};
use crate::inventory::demand::Amounts;
use crate::rules::prelude::*;

/// The resources that each container has to set if a quota limits them: `validationSet`.
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// Returns the first refusal by a quota without a scope. The usage of other objects is unknown, so the set alone has to
/// exceed it; a DaemonSet has at least one pod.
pub(super) fn refuses(
    hard: &Amounts,
    all: &[Demand],
    kind: Kind,
    details: &Details,
) -> Option<Refusal> {
    let required = REQUIRED.into_iter().filter(|name| hard.contains_key(*name));
    let missing = required.clone().find_map(|name| {
        let it = all.iter().find(|it| amount_of(it, name).is_none())?;
        let what =
            format!("container {:?} has to set {name}, because the quota limits it", it.container);
        Some((it.field.clone(), what))
    });
    if missing.is_some() {
        return missing;
    }
    let pods = if kind == Kind::DaemonSet { 1 } else { u128::try_from(details.replicas).ok()? };
    let storage =
        || details.claims.iter().map(|it| it.as_ref().and_then(amount)).sum::<Option<u128>>();
    let of_claims = [
        ("persistentvolumeclaims", Some(details.claims.len() as u128 * 1000)),
        ("requests.storage", storage()),
    ];
    let of_pods = required.map(|name| {
        // Init containers run before the others.
        let regular = all.iter().filter(|it| !it.is_init);
        (name, regular.map(|it| amount_of(it, name)).sum::<Option<u128>>())
    });
    let each = [("pods", Some(1000))].into_iter().chain(of_pods).chain(of_claims);
    each.filter_map(|(name, each)| Some((name, hard.get(name)?, each?.checked_mul(pods)?)))
        .find(|(_, most, wanted)| amount(most).is_some_and(|most| most < *wanted))
        .map(|(name, most, _)| {
            let who = match kind {
                Kind::DaemonSet => "a pod".to_owned(),
                _ if pods == 1 => "the pod".to_owned(),
                _ => format!("the {pods} replicas"),
            };
            let verb = if pods == 1 { "needs" } else { "need" };
            let what = format!("{who} {verb} more than the {} of {name} that it allows", most.0);
            let replicas = SPEC.child("replicas");
            let field = if details.sets_replicas { &replicas } else { &POD_SPEC };
            (field.to_field(), what)
        })
}

/// Returns the amount of a container that counts for a resource of a quota.
fn amount_of(demand: &Demand, name: &str) -> Option<u128> {
    match name.split_once('.') {
        Some(("limits", name)) => amount(demand.limits.get(name)?),
        Some((_, name)) => amount(demand.requests.get(name)?),
        None => amount(demand.requests.get(name)?),
    }
}
