//! The kinds of objects in an inventory.

use crate::kubernetes::kind::Kind;

/// Every kind, in alphabetical order.
pub const KINDS: [Kind; 17] = [
    Kind::ConfigMap,
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::HorizontalPodAutoscaler,
    Kind::Job,
    Kind::MutatingWebhookConfiguration,
    Kind::Namespace,
    Kind::Node,
    Kind::PodDisruptionBudget,
    Kind::PriorityClass,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::Service,
    Kind::ServiceAccount,
    Kind::StatefulSet,
    Kind::StorageClass,
    Kind::ValidatingWebhookConfiguration,
];

/// Returns the kind of an object if an inventory contains this kind. Excludes OpenKruise's kinds.
pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
    let is_right = |it: &Kind| match it {
        // Only fields that exist in all versions are read.
        Kind::HorizontalPodAutoscaler => api_version.starts_with("autoscaling/"),
        _ => it.api_version() == api_version,
    };
    KINDS.into_iter().find(|it| it.as_str() == kind && is_right(it))
}
