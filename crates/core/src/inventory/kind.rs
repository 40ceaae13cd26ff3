//! The kinds of objects in an inventory.

use super::unserved;
use crate::inventory::prelude::*;

/// Returns every kind but Pod, in alphabetical order.
pub fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| {
        !matches!(
            kind,
            Kind::ControllerRevision
                | Kind::EndpointSlice
                | Kind::Event
                | Kind::PersistentVolumeClaim
                | Kind::Pod
                | Kind::Policy
                | Kind::Unserved
        )
    })
}

/// Returns the kind of an object if an inventory contains this kind. Excludes OpenKruise's kinds.
pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
    if unserved::is_gone(api_version, kind) {
        return Some(Kind::Unserved);
    }
    if makes_configs(api_version, kind) {
        return Some(Kind::ExternalSecret);
    }
    if kind.ends_with("NetworkPolicy") && api_version.contains('.') {
        return Some(Kind::NetworkPolicy);
    }
    let is_right = |it: &Kind| match it {
        // Only fields that exist in all versions are read.
        Kind::HorizontalPodAutoscaler => api_version.starts_with("autoscaling/"),
        Kind::VerticalPodAutoscaler => api_version.starts_with("autoscaling.k8s.io/"),
        _ => it.api_version() == api_version,
    };
    // Only of manifests: in a cluster, controllers make most claims.
    let mut known = kinds().chain([Kind::PersistentVolumeClaim]);
    let known = known.find(|it| it.as_str() == kind && is_right(it));
    known.or_else(|| makes_pods(api_version, kind).then_some(Kind::Pod))
}

/// Returns whether there may be pods because of an object whose pods are not known.
fn makes_pods(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if !group.contains('.') || group.ends_with(".k8s.io") {
        return matches!(kind, "CronJob" | "CustomResourceDefinition" | "Pod");
    }
    let monitors = ["PodMonitor", "PrometheusRule", "ServiceMonitor"].contains(&kind);
    !monitors && group != "cert-manager.io" && !group.ends_with(".istio.io")
}

/// Returns whether a controller makes Secrets or ConfigMaps from objects of a kind, as far as its name shows.
fn makes_configs(api_version: &str, kind: &str) -> bool {
    let makes =
        kind.ends_with("Secret") || matches!(kind, "Bundle" | "Certificate" | "OnePasswordItem");
    makes && api_version.contains('.')
}
