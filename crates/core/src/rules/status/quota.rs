//! Parses the API server's messages about exceeded quotas.

use k8s_openapi::api::core::v1::ResourceQuotaStatus;

use crate::rules::prelude::*;

const MOST: usize = 1_000;

pub(in crate::rules) fn exceeded(message: &str) -> Option<&str> {
    between(message, "exceeded quota: ", ",")
}

/// Returns whether a quota has room for one more pod with the requests in a refusal.
pub(in crate::rules) fn has_room(quota: &ResourceQuotaStatus, message: &str) -> bool {
    let requested = between(message, ", requested: ", ", used: ").and_then(amounts);
    requested.is_some_and(|requested| {
        requested.into_iter().all(|(resource, amount)| {
            // A quota limits only the resources in its spec.
            let Some(hard) = quota.hard.as_ref().and_then(|it| it.get(resource)) else {
                return true;
            };
            let used = quota.used.as_ref().and_then(|it| it.get(resource)).map_or("0", |it| &it.0);
            let sum = Quantity::parse_resource(used).map(|mut sum| {
                sum.add(&amount);
                sum
            });
            let hard = Quantity::parse_resource(&hard.0);
            sum.zip(hard).is_some_and(|(sum, hard)| sum.cmp(&hard).is_le())
        })
    })
}

/// Returns the limits by resource that make room for this many pods; `None` if the message has a different form.
///
/// Kubernetes: `CheckRequest`, k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
pub(in crate::rules) fn raised(message: &str, pods: usize) -> Option<BTreeMap<&str, String>> {
    let requested = amounts(between(message, ", requested: ", ", used: ")?)?;
    let used = amounts(between(message, ", used: ", ", limited: ")?)?;
    let raised = requested.into_iter().map(|(resource, amount)| {
        let mut limit = used.get(resource)?.clone();
        (0..pods.clamp(1, MOST)).for_each(|_| limit.add(&amount));
        Some((resource, limit.to_text().into_owned()))
    });
    raised.collect()
}

/// `cpu=1,pods=2`
fn amounts(text: &str) -> Option<BTreeMap<&str, Quantity<'_>>> {
    let pairs = text.split(',').map(|pair| {
        let (resource, amount) = pair.split_once('=')?;
        Some((resource, Quantity::parse_resource(amount)?))
    });
    pairs.collect()
}

fn between<'m>(message: &'m str, before: &str, after: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(after).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_raised_for_all_pods_that_are_missing() {
        let message = "exceeded quota: small.b, requested: pods=1,requests.memory=64Mi, used: \
                       pods=3,requests.memory=192Mi, limited: pods=3,requests.memory=200Mi";
        assert_eq!(exceeded(message), Some("small.b"));
        let raised = raised(message, 2).unwrap();
        assert_eq!(raised["pods"], "5");
        assert_eq!(raised["requests.memory"], "320Mi");
        for other in ["", "exceeded quota: a", ", requested: pods, used: pods=1, limited: "] {
            assert_eq!(super::raised(other, 1), None, "{other}");
        }
    }
}
