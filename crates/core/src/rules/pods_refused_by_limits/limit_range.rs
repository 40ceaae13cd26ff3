//! A LimitRange: plugin/pkg/admission/limitranger/admission.go.

use k8s_openapi::{api::core::v1::LimitRangeItem, apimachinery::pkg::api::resource::Quantity};

use super::{Refusal, amount, is_less};
use crate::inventory::demand::Amounts;
use crate::rules::prelude::*;

/// Adds the defaults of a LimitRange to a container: `mergeContainerResources`. A default that the LimitRange does not
/// have is its maximum, or its minimum for requests: `SetDefaults_LimitRangeItem`, pkg/apis/core/v1/defaults.go.
pub(super) fn complete(demand: &mut Demand, limits: &[LimitRangeItem]) {
    for item in limits.iter().filter(|it| it.type_ == "Container") {
        let add = |to: &mut Amounts, from: &Option<Amounts>| {
            for (name, amount) in from.iter().flatten() {
                to.entry(name.clone()).or_insert_with(|| amount.clone());
            }
        };
        for from in [&item.default, &item.max] {
            add(&mut demand.limits, from);
        }
        for from in [&item.default_request, &item.default, &item.max, &item.min] {
            add(&mut demand.requests, from);
        }
    }
}

/// Returns the first refusal by a LimitRange, given the template's resources, without and with all defaults.
pub(super) fn refuses(
    limits: &[LimitRangeItem],
    own: &[Demand],
    all: &[Demand],
    details: &Details,
) -> Option<Refusal> {
    let above =
        all.iter().zip(own).find_map(|(it, own)| Some((it.field.clone(), above_limit(it, own)?)));
    let of_items = limits.iter().find_map(|item| match &*item.type_ {
        "Container" => all.iter().find_map(|it| {
            let who = format!("container {:?}", it.container);
            Some((it.field.clone(), outside(item, &who, &it.requests, &it.limits)?))
        }),
        // The sum of a pod with init containers is a maximum of several.
        "Pod" if !all.iter().any(|it| it.is_init) => {
            let requests = sum(all.iter().map(|it| &it.requests))?;
            let limits = sum(all.iter().map(|it| &it.limits))?;
            Some((all.first()?.field.clone(), outside(item, "a pod", &requests, &limits)?))
        }
        "PersistentVolumeClaim" => details.claims.iter().enumerate().find_map(|(i, storage)| {
            let requests = Amounts::from([("storage".to_owned(), storage.clone()?)]);
            // A claim has no limits, so its request counts twice.
            Some((Details::claim_field(i), outside(item, "a claim", &requests, &requests)?))
        }),
        _ => None,
    });
    above.or(of_items)
}

/// Returns a request of the template that is above a limit of the LimitRange.
fn above_limit(all: &Demand, own: &Demand) -> Option<String> {
    own.requests.iter().find_map(|(name, request)| {
        let limit = all.limits.get(name).filter(|_| !own.limits.contains_key(name))?;
        is_less(limit, request).then(|| {
            format!(
                "container {:?} requests {name} {}, and its limit becomes {}",
                own.container, request.0, limit.0
            )
        })
    })
}

/// `minConstraint`, `maxConstraint` and `limitRequestRatioConstraint`.
fn outside(
    item: &LimitRangeItem,
    who: &str,
    requests: &Amounts,
    limits: &Amounts,
) -> Option<String> {
    let below = item.min.iter().flatten().find_map(|(name, least)| match requests.get(name) {
        None => Some(format!("{who} has no request of {name}, and the minimum is {}", least.0)),
        Some(it) if is_less(it, least) => {
            Some(format!("{who} requests {name} {}, and the minimum is {}", it.0, least.0))
        }
        Some(_) => None,
    });
    let above = item.max.iter().flatten().find_map(|(name, most)| match limits.get(name) {
        None => Some(format!("{who} has no limit of {name}, and the maximum is {}", most.0)),
        Some(it) if is_less(most, it) => {
            Some(format!("{who} may use {name} {}, and the maximum is {}", it.0, most.0))
        }
        Some(_) => None,
    });
    let ratio = item.max_limit_request_ratio.iter().flatten().find_map(|(name, most)| {
        let (limit, request) = (limits.get(name), requests.get(name));
        let text = || match (limit, request) {
            (Some(limit), Some(request)) => format!(
                "{who} requests {name} {} with a limit of {}, and the limit may be {} times the request",
                request.0, limit.0, most.0
            ),
            _ => format!("{who} needs a request and a limit of {name} for their ratio"),
        };
        let is_right = match limit.zip(request) {
            // Both in thousandths, as the ratio is.
            Some((limit, request)) => {
                let product = amount(request)?.checked_mul(amount(most)?)?;
                amount(request)? > 0 && amount(limit)?.checked_mul(1000)? <= product
            }
            None => false,
        };
        (!is_right).then(text)
    });
    below.or(above).or(ratio)
}

/// Returns the sums by resource; `None` if one cannot be read.
fn sum<'a>(lists: impl Iterator<Item = &'a Amounts>) -> Option<Amounts> {
    let mut sums = BTreeMap::<&String, u128>::new();
    for (name, it) in lists.flatten() {
        *sums.entry(name).or_default() += amount(it)?;
    }
    let text = |sum: u128| {
        if sum.is_multiple_of(1000) { (sum / 1000).to_string() } else { format!("{sum}m") }
    };
    let sums = sums.into_iter();
    Some(sums.map(|(name, sum)| (name.clone(), Quantity(text(sum)))).collect())
}
