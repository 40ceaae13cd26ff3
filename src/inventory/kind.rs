//! The kinds of objects that the rules about several objects need.

use std::fmt;

/// A kind of object of an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `apps/v1`, and OpenKruise's.
    DaemonSet,
    /// `apps/v1`
    Deployment,
    /// `batch/v1`
    Job,
    /// `v1`
    Namespace,
    /// `v1`
    Node,
    /// `policy/v1`
    PodDisruptionBudget,
    /// `scheduling.k8s.io/v1`
    PriorityClass,
    /// `apps/v1`
    ReplicaSet,
    /// `v1`
    ReplicationController,
    /// `v1`
    Service,
    /// `v1`
    ServiceAccount,
    /// `apps/v1`, and OpenKruise's.
    StatefulSet,
    /// `storage.k8s.io/v1`
    StorageClass,
}

impl Kind {
    /// Every kind, in alphabetical order.
    pub const ALL: [Kind; 13] = [
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

    /// Returns the name as in the field `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::DaemonSet => "DaemonSet",
            Kind::Deployment => "Deployment",
            Kind::Job => "Job",
            Kind::Namespace => "Namespace",
            Kind::Node => "Node",
            Kind::PodDisruptionBudget => "PodDisruptionBudget",
            Kind::PriorityClass => "PriorityClass",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::ReplicationController => "ReplicationController",
            Kind::Service => "Service",
            Kind::ServiceAccount => "ServiceAccount",
            Kind::StatefulSet => "StatefulSet",
            Kind::StorageClass => "StorageClass",
        }
    }

    /// Returns the `apiVersion` of its objects. OpenKruise's sets have a different one.
    pub const fn api_version(self) -> &'static str {
        match self {
            Kind::DaemonSet | Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet => "apps/v1",
            Kind::Job => "batch/v1",
            Kind::PodDisruptionBudget => "policy/v1",
            Kind::PriorityClass => "scheduling.k8s.io/v1",
            Kind::StorageClass => "storage.k8s.io/v1",
            Kind::Namespace
            | Kind::Node
            | Kind::ReplicationController
            | Kind::Service
            | Kind::ServiceAccount => "v1",
        }
    }

    /// Returns the kind of an object, if rules need objects of this kind. OpenKruise's kinds are
    /// not included.
    pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
        let is_it = |it: &Kind| it.as_str() == kind && it.api_version() == api_version;
        Kind::ALL.into_iter().find(is_it)
    }

    /// Returns whether the kind is namespaced.
    pub const fn is_namespaced(self) -> bool {
        !matches!(self, Kind::Namespace | Kind::Node | Kind::PriorityClass | Kind::StorageClass)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
