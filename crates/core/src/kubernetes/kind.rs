//! The kinds of objects that rules look at.

use std::fmt;

use super::resource::WorkloadKind;

macro_rules! kinds {
    ($($kind:ident: $api_version:literal,)*) => {
        /// A kind of object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $(
                #[doc = concat!("`", $api_version, "`")]
                $kind,
            )*
        }

        impl Kind {
            /// All kinds, in alphabetical order.
            pub const ALL: [Kind; Kind::COUNT] = [$(Kind::$kind),*];

            /// Returns the name as in the field `kind`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Kind::$kind => stringify!($kind),)*
                }
            }

            /// Returns the `apiVersion` of the built-in kind, not of OpenKruise's.
            pub const fn api_version(self) -> &'static str {
                match self {
                    $(Kind::$kind => $api_version,)*
                }
            }
        }
    };
}

kinds! {
    ClusterRole: "rbac.authorization.k8s.io/v1",
    ClusterRoleBinding: "rbac.authorization.k8s.io/v1",
    ConfigMap: "v1",
    ControllerRevision: "apps/v1",
    DaemonSet: "apps/v1",
    Deployment: "apps/v1",
    EndpointSlice: "discovery.k8s.io/v1",
    Event: "v1",
    // And all other kinds that controllers turn into Secrets or ConfigMaps.
    ExternalSecret: "external-secrets.io/v1",
    HorizontalPodAutoscaler: "autoscaling/v2",
    Job: "batch/v1",
    LimitRange: "v1",
    MutatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
    Namespace: "v1",
    // In an inventory, also the policies of other groups about the network.
    NetworkPolicy: "networking.k8s.io/v1",
    Node: "v1",
    PersistentVolume: "v1",
    PersistentVolumeClaim: "v1",
    // In an inventory, also all unknown kinds that controllers may turn into pods.
    Pod: "v1",
    PodDisruptionBudget: "policy/v1",
    PodMonitor: "monitoring.coreos.com/v1",
    Policy: "setguard.io/v1alpha1",
    PriorityClass: "scheduling.k8s.io/v1",
    ReplicaSet: "apps/v1",
    ReplicationController: "v1",
    ResourceQuota: "v1",
    Role: "rbac.authorization.k8s.io/v1",
    RoleBinding: "rbac.authorization.k8s.io/v1",
    RuntimeClass: "node.k8s.io/v1",
    ScaledObject: "keda.sh/v1alpha1",
    Secret: "v1",
    Service: "v1",
    ServiceAccount: "v1",
    ServiceMonitor: "monitoring.coreos.com/v1",
    StatefulSet: "apps/v1",
    StorageClass: "storage.k8s.io/v1",
    // Objects of all kinds in versions that no cluster serves.
    Unserved: "",
    ValidatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
    VerticalPodAutoscaler: "autoscaling.k8s.io/v1",
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = Kind::VerticalPodAutoscaler as usize + 1;

    /// Returns the kind with this name, as in the field `kind`, in any API group.
    pub fn named(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns whether objects of this kind belong to namespaces.
    pub const fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Kind::ClusterRole
                | Kind::ClusterRoleBinding
                | Kind::MutatingWebhookConfiguration
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
