//! The kinds of objects that rules look at.

use std::fmt;

use super::resource::WorkloadKind;

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `v1`
    ConfigMap,
    /// `apps/v1`
    ControllerRevision,
    /// `apps/v1`, and OpenKruise's.
    DaemonSet,
    /// `apps/v1`
    Deployment,
    /// `discovery.k8s.io/v1`
    EndpointSlice,
    /// `v1`
    Event,
    /// `external-secrets.io/v1`, and all other kinds from which controllers make Secrets or ConfigMaps.
    ExternalSecret,
    /// `autoscaling/v2`
    HorizontalPodAutoscaler,
    /// `batch/v1`
    Job,
    /// `v1`
    LimitRange,
    /// `admissionregistration.k8s.io/v1`
    MutatingWebhookConfiguration,
    /// `v1`
    Namespace,
    /// `v1`
    Node,
    /// `v1`
    PersistentVolume,
    /// `v1`
    PersistentVolumeClaim,
    /// `v1`; in an inventory all kinds from which controllers may make pods that are not known.
    Pod,
    /// `policy/v1`
    PodDisruptionBudget,
    /// `setguard.io/v1alpha1`: the policy file.
    Policy,
    /// `scheduling.k8s.io/v1`
    PriorityClass,
    /// `apps/v1`
    ReplicaSet,
    /// `v1`
    ReplicationController,
    /// `v1`
    ResourceQuota,
    /// `node.k8s.io/v1`
    RuntimeClass,
    /// `keda.sh/v1alpha1`
    ScaledObject,
    /// `v1`
    Secret,
    /// `v1`
    Service,
    /// `v1`
    ServiceAccount,
    /// `apps/v1`, and OpenKruise's.
    StatefulSet,
    /// `storage.k8s.io/v1`
    StorageClass,
    /// `admissionregistration.k8s.io/v1`
    ValidatingWebhookConfiguration,
    /// `autoscaling.k8s.io/v1`
    VerticalPodAutoscaler,
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = Kind::VerticalPodAutoscaler as usize + 1;

    /// All kinds, in alphabetical order.
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::ConfigMap,
        Kind::ControllerRevision,
        Kind::DaemonSet,
        Kind::Deployment,
        Kind::EndpointSlice,
        Kind::Event,
        Kind::ExternalSecret,
        Kind::HorizontalPodAutoscaler,
        Kind::Job,
        Kind::LimitRange,
        Kind::MutatingWebhookConfiguration,
        Kind::Namespace,
        Kind::Node,
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::Pod,
        Kind::PodDisruptionBudget,
        Kind::Policy,
        Kind::PriorityClass,
        Kind::ReplicaSet,
        Kind::ReplicationController,
        Kind::ResourceQuota,
        Kind::RuntimeClass,
        Kind::ScaledObject,
        Kind::Secret,
        Kind::Service,
        Kind::ServiceAccount,
        Kind::StatefulSet,
        Kind::StorageClass,
        Kind::ValidatingWebhookConfiguration,
        Kind::VerticalPodAutoscaler,
    ];

    /// Returns the kind with this name, as in the field `kind`, in any API group.
    pub fn named(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the name as in the field `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::ConfigMap => "ConfigMap",
            Kind::ControllerRevision => "ControllerRevision",
            Kind::DaemonSet => "DaemonSet",
            Kind::Deployment => "Deployment",
            Kind::EndpointSlice => "EndpointSlice",
            Kind::Event => "Event",
            Kind::ExternalSecret => "ExternalSecret",
            Kind::HorizontalPodAutoscaler => "HorizontalPodAutoscaler",
            Kind::Job => "Job",
            Kind::LimitRange => "LimitRange",
            Kind::MutatingWebhookConfiguration => "MutatingWebhookConfiguration",
            Kind::Namespace => "Namespace",
            Kind::Node => "Node",
            Kind::PersistentVolume => "PersistentVolume",
            Kind::PersistentVolumeClaim => "PersistentVolumeClaim",
            Kind::Pod => "Pod",
            Kind::PodDisruptionBudget => "PodDisruptionBudget",
            Kind::Policy => "Policy",
            Kind::PriorityClass => "PriorityClass",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::ReplicationController => "ReplicationController",
            Kind::ResourceQuota => "ResourceQuota",
            Kind::RuntimeClass => "RuntimeClass",
            Kind::ScaledObject => "ScaledObject",
            Kind::Secret => "Secret",
            Kind::Service => "Service",
            Kind::ServiceAccount => "ServiceAccount",
            Kind::StatefulSet => "StatefulSet",
            Kind::StorageClass => "StorageClass",
            Kind::ValidatingWebhookConfiguration => "ValidatingWebhookConfiguration",
            Kind::VerticalPodAutoscaler => "VerticalPodAutoscaler",
        }
    }

    /// Returns the `apiVersion` of the built-in kind, not of OpenKruise's.
    pub const fn api_version(self) -> &'static str {
        match self {
            Kind::ControllerRevision
            | Kind::DaemonSet
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::StatefulSet => "apps/v1",
            Kind::EndpointSlice => "discovery.k8s.io/v1",
            Kind::ExternalSecret => "external-secrets.io/v1",
            Kind::HorizontalPodAutoscaler => "autoscaling/v2",
            Kind::Job => "batch/v1",
            Kind::PodDisruptionBudget => "policy/v1",
            Kind::Policy => "setguard.io/v1alpha1",
            Kind::PriorityClass => "scheduling.k8s.io/v1",
            Kind::RuntimeClass => "node.k8s.io/v1",
            Kind::ScaledObject => "keda.sh/v1alpha1",
            Kind::StorageClass => "storage.k8s.io/v1",
            Kind::VerticalPodAutoscaler => "autoscaling.k8s.io/v1",
            Kind::MutatingWebhookConfiguration | Kind::ValidatingWebhookConfiguration => {
                "admissionregistration.k8s.io/v1"
            }
            Kind::ConfigMap
            | Kind::Event
            | Kind::LimitRange
            | Kind::Namespace
            | Kind::Node
            | Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::Pod
            | Kind::ReplicationController
            | Kind::ResourceQuota
            | Kind::Secret
            | Kind::Service
            | Kind::ServiceAccount => "v1",
        }
    }

    /// Returns whether objects of this kind belong to namespaces.
    pub const fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Kind::MutatingWebhookConfiguration
                | Kind::Namespace
                | Kind::Node
                | Kind::PersistentVolume
                | Kind::Policy
                | Kind::PriorityClass
                | Kind::RuntimeClass
                | Kind::StorageClass
                | Kind::ValidatingWebhookConfiguration
        )
    }
}

impl From<WorkloadKind> for Kind {
    fn from(kind: WorkloadKind) -> Self {
        match kind {
            WorkloadKind::DaemonSet => Kind::DaemonSet,
            WorkloadKind::StatefulSet => Kind::StatefulSet,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_name() {
        assert!(Kind::ALL.is_sorted_by_key(|kind| kind.as_str()));
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, Kind::named(kind.as_str())), (index, Some(kind)));
        }
        assert_eq!(Kind::named("Lease"), None);
    }
}
