mod limit_range;
mod quota;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::kubernetes::quantity;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pods-refused-by-limits", group: NeverStarts;
    title: "limits of the namespace refuse the pods",
    summary: "pods or claims that a LimitRange or ResourceQuota of the namespace refuses",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

/// The refused objects, and the field of the set that causes the refusal.
type Refusal = (Field, String);

/// The API server lets all LimitRanges change a pod, then asks each of them, and then the quotas.
fn check(query: &Query<'_>, found: &mut Findings) {
    let (set, inventory) = (query.item, query.inventory());
    let details = query.details;
    if details.replicas < 1 && set.kind() != Kind::DaemonSet {
        return;
    }
    let of_kind =
        |kind| inventory.in_namespace(kind, set.namespace()).filter(|it| query.counts(it));
    let ranges: Vec<_> =
        of_kind(Kind::LimitRange).filter_map(|it| Some((it, it.limits()?))).collect();
    let quotas: Vec<_> =
        of_kind(Kind::ResourceQuota).filter_map(|it| Some((it, it.quota()?))).collect();
    // The defaults of a LimitRange can be what a quota demands.
    let knows = query.freshness(Kind::LimitRange) != Freshness::Unknown;
    if !knows || ranges.is_empty() && quotas.is_empty() {
        return;
    }
    let pod = query.template.and_then(|it| it.spec.as_ref());
    let own = pod.map_or(Cow::Borrowed(&*details.demand), |pod| Demand::all(pod).into_vec().into());
    let mut all = own.clone().into_owned();
    for (_, limits) in &ranges {
        all.iter_mut().for_each(|it| limit_range::complete(it, limits));
    }
    for (range, limits) in ranges {
        if let Some((field, what)) = limit_range::refuses(limits, &own, &all, details) {
            let message = format!("its {range} refuses them: {what}");
            let help = "change the resources, or the LimitRange";
            found.via(Kind::LimitRange, field, Reason::Forbidden, message, help);
        }
    }
    for (quota, hard) in quotas {
        if let Some((field, what)) = quota::refuses(hard, &all, set.kind(), details) {
            let message = format!("its {quota} refuses them: {what}");
            let help = "change the resources, raise the quota, or set defaults with a LimitRange";
            found.via(Kind::ResourceQuota, field, Reason::Forbidden, message, help);
        }
    }
}

/// Returns an amount in thousandths.
fn amount(quantity: &Quantity) -> Option<u128> {
    quantity::Quantity::parse_resource(&quantity.0)?.thousandths()
}

/// Returns whether the first amount is less than the second, if both can be read.
fn is_less(one: &Quantity, other: &Quantity) -> bool {
    amount(one).zip(amount(other)).is_some_and(|(one, other)| one < other)
}
