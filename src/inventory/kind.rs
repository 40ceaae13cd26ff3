//! The kinds of objects that an inventory has.

use crate::kubernetes::kind::Kind;

/// Every kind, in alphabetical order.
pub const KINDS: [Kind; 13] = [
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::Job,
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
];

/// The kind of an object, if an inventory has objects of this kind. OpenKruise's aren't included.
pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
    KINDS.into_iter().find(|it| it.as_str() == kind && it.api_version() == api_version)
}
