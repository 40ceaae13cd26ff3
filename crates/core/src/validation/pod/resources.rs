//! Requests and limits. Kubernetes: also `pkg/apis/core/helper/helpers.go`.

use std::cmp::Ordering;

use k8s_openapi::{
    api::core::v1::ResourceClaim, apimachinery::pkg::api::resource::Quantity as Text,
};

use crate::validation::prelude::*;

pub(crate) type ResourceList = BTreeMap<String, Text>;

const HUGE_PAGES: &str = "hugepages-";

/// The owner of the resources decides which names are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Container,
    Pod,
}

/// Follows `validateResourceRequirements`.
pub(crate) fn validate(
    requirements: &ResourceRequirements,
    of: Of,
    cx: &PodContext<'_>,
    path: &At<'_>,
) {
    let empty = ResourceList::new();
    let limits = requirements.limits.as_ref().unwrap_or(&empty);
    let requests = requirements.requests.as_ref().unwrap_or(&empty);
    let limits_path = path.child("limits");
    let requests_path = path.child("requests");
    for limit in limits {
        resource(limit, of, cx.opts, &limits_path.key(limit.0));
    }
    for (name, value) in requests {
        let at = requests_path.key(name);
        let huge = is_huge_page(name);
        resource_name(name, of, &at);
        let value = Quantity::parse_resource(&value.0);
        if let Some(value) = &value {
            resource_value(name, value, &at);
        }
        let limit = limits.get(name).map(|limit| Quantity::parse_resource(&limit.0));
        match (&value, limit) {
            (Some(value), Some(Some(limit))) => {
                let order = value.cmp(&limit);
                let must = if order != Ordering::Equal && !is_overcommit_allowed(name) {
                    "equal to"
                } else if order == Ordering::Greater {
                    "less than or equal to"
                } else {
                    ""
                };
                if !must.is_empty() {
                    let why = format!("must be {must} {name} limit of {}", limit.to_text());
                    requests_path.invalid(&*value.to_text(), why);
                }
            }
            (_, None) if !is_overcommit_allowed(name) => {
                limits_path.required("Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
        if let Some(value) = value.filter(|_| huge) {
            huge_pages(name, &value, cx.opts, &at);
        }
    }
    let mut all = limits.keys().chain(requests.keys());
    if all.clone().any(|name| is_huge_page(name))
        && !all.any(|name| name == "cpu" || name == "memory")
    {
        path.forbidden("HugePages require cpu or memory");
    }
    claims(list(&requirements.claims), cx.claim_names, &path.child("claims"));
}

/// Follows `validateOverhead`.
pub(crate) fn overhead(overhead: &ResourceList, opts: &Options, path: &At<'_>) {
    let limits = path.child("limits");
    for resource in overhead {
        self::resource(resource, Of::Container, opts, &limits.key(resource.0));
    }
    if overhead.keys().any(|name| is_huge_page(name))
        && !overhead.keys().any(|name| name == "cpu" || name == "memory")
    {
        path.forbidden("HugePages require cpu or memory");
    }
}

fn resource((name, value): (&String, &Text), of: Of, opts: &Options, path: &At<'_>) {
    resource_name(name, of, path);
    if let Some(value) = Quantity::parse_resource(&value.0) {
        resource_value(name, &value, path);
        if is_huge_page(name) {
            huge_pages(name, &value, opts, path);
        }
    }
}

/// Follows `validateContainerResourceName` and `validatePodResourceName`.
fn resource_name(name: &str, of: Of, path: &At<'_>) {
    // Nearly every resource is one of these.
    if name == "cpu" || name == "memory" {
        return;
    }
    let wrong = names::label_key(name);
    let bad = !wrong.is_empty();
    for message in wrong {
        path.invalid(named(name), message);
    }
    let bare = !name.contains('/');
    let nonstandard = !bad && bare && !is_standard(name);
    if nonstandard {
        path.invalid(named(name), "must be a standard resource type or fully qualified");
    }
    match of {
        Of::Container if bare => {
            if name != "ephemeral-storage" && !is_huge_page(name) {
                path.invalid(named(name), "must be a standard resource for containers");
            }
        }
        Of::Container => {
            if !is_native(name) && !is_extended(name) {
                path.invalid(named(name), "doesn't follow extended resource name standard");
            }
        }
        Of::Pod => {
            if !bad && !nonstandard && !is_huge_page(name) {
                path.not_supported(named(name), &["cpu", HUGE_PAGES, "memory"]);
            }
        }
    }
}

/// Follows `ValidateResourceQuantityValue`.
fn resource_value(name: &str, value: &Quantity<'_>, path: &At<'_>) {
    if value.is_negative() {
        path.invalid(&*value.to_text(), names::NOT_NEGATIVE);
    }
    if !value.is_integer() && is_integer_resource(name) {
        path.invalid(&*value.to_text(), "must be an integer");
    }
}

/// Follows `validateResourceQuantityHugePageValue`.
fn huge_pages(name: &str, value: &Quantity<'_>, opts: &Options, path: &At<'_>) {
    if !opts.indivisible_huge_pages && !is_divisible(name, value) {
        let text = value.to_text();
        path.invalid(&*text, format!("{text} is not positive integer multiple of {name}"));
    }
}

/// Follows `IsHugePageResourceValueDivisible`.
fn is_divisible(name: &str, value: &Quantity<'_>) -> bool {
    let size = name.strip_prefix(HUGE_PAGES).and_then(Quantity::parse);
    size.is_some_and(|size| {
        !size.is_negative() && !size.is_zero() && size.is_integer() && value.is_multiple_of(&size)
    })
}

/// Follows `usesIndivisibleHugePagesValues`.
pub(crate) fn has_indivisible_huge_pages(spec: &PodSpec) -> bool {
    let bad = |(name, value): (&String, &Text)| {
        is_huge_page(name)
            && !Quantity::parse_resource(&value.0).is_some_and(|value| is_divisible(name, &value))
    };
    let lists = |r: &ResourceRequirements| {
        r.limits.iter().flatten().any(bad) || r.requests.iter().flatten().any(bad)
    };
    containers(spec).any(|c| c.resources.as_ref().is_some_and(lists))
        || spec.overhead.iter().flatten().any(bad)
}

/// Follows `IsHugePageResourceName`.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Follows `IsNativeResource`.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Follows `IsOvercommitAllowed`.
fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Follows `IsExtendedResourceName`.
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::label_key(&format!("requests.{name}")).is_empty()
}

/// Follows `IsStandardResourceName`.
fn is_standard(name: &str) -> bool {
    is_huge_page(name)
        || name.starts_with("requests.hugepages-")
        || is_object_count(name)
        || matches!(
            name,
            "cpu"
                | "memory"
                | "ephemeral-storage"
                | "requests.cpu"
                | "requests.memory"
                | "requests.ephemeral-storage"
                | "limits.cpu"
                | "limits.memory"
                | "limits.ephemeral-storage"
                | "storage"
                | "requests.storage"
        )
}

fn is_object_count(name: &str) -> bool {
    matches!(
        name,
        "pods"
            | "resourcequotas"
            | "services"
            | "replicationcontrollers"
            | "secrets"
            | "configmaps"
            | "persistentvolumeclaims"
            | "services.nodeports"
            | "services.loadbalancers"
    )
}

/// Follows `IsIntegerResourceName`.
fn is_integer_resource(name: &str) -> bool {
    is_object_count(name) || is_extended(name)
}

/// Follows `validateResourceClaimNames`. `claim_names` must be sorted.
fn claims(claims: &[ResourceClaim], claim_names: &[&str], path: &At<'_>) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (claim, path) in path.items(claims) {
        let name = claim.name.as_str();
        if name.is_empty() {
            path.required("");
            continue;
        }
        if seen.contains(name) {
            path.duplicate(name);
        } else {
            let request = claim.request.as_deref().filter(|request| !request.is_empty());
            let key = match request {
                Some(request) => {
                    label(request, &path.child("request"));
                    format!("{name}/{request}")
                }
                None => name.to_owned(),
            };
            if seen.contains(&key) {
                path.duplicate(&key);
            } else if request.is_none() {
                let start = format!("{name}/");
                let requests = seen.range(start.clone()..);
                for _ in requests.take_while(|seen| seen.starts_with(&start)) {
                    path.duplicate(name);
                }
            }
            seen.insert(key);
        }
        if claim_names.binary_search(&name).is_err() {
            let which = if claim_names.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", claim_names.join(", "))
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{which}");
            path.not_found_because(name, why);
        }
    }
}
