//! Objects in API versions that no release that setguard knows still serves.

use super::{
    configs::{HELM_HOOK, Refused},
    read::shapes::{Marks, Metadata},
};
use crate::inventory::prelude::*;

/// API versions, kinds in them, the first minor release without them, and the version to use instead.
///
/// Kubernetes: *Deprecated API Migration Guide*, docs/reference/using-api/deprecation-guide.
const GONE: [(&str, &str, u32, &str); 24] = [
    ("extensions/v1beta1", "Deployment ReplicaSet", 16, "apps/v1"),
    ("apps/v1beta1", "ControllerRevision Deployment", 16, "apps/v1"),
    ("apps/v1beta2", "ControllerRevision Deployment ReplicaSet", 16, "apps/v1"),
    ("extensions/v1beta1", "NetworkPolicy", 16, "networking.k8s.io/v1"),
    ("extensions/v1beta1", "PodSecurityPolicy", 16, ""),
    (
        "admissionregistration.k8s.io/v1beta1",
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
        22,
        "admissionregistration.k8s.io/v1",
    ),
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22, "apiextensions.k8s.io/v1"),
    ("apiregistration.k8s.io/v1beta1", "APIService", 22, "apiregistration.k8s.io/v1"),
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest", 22, "certificates.k8s.io/v1"),
    ("coordination.k8s.io/v1beta1", "Lease", 22, "coordination.k8s.io/v1"),
    ("extensions/v1beta1", "Ingress", 22, "networking.k8s.io/v1"),
    ("networking.k8s.io/v1beta1", "Ingress IngressClass", 22, "networking.k8s.io/v1"),
    (
        "rbac.authorization.k8s.io/v1beta1",
        "ClusterRole ClusterRoleBinding Role RoleBinding",
        22,
        "rbac.authorization.k8s.io/v1",
    ),
    ("scheduling.k8s.io/v1beta1", "PriorityClass", 22, "scheduling.k8s.io/v1"),
    (
        "storage.k8s.io/v1beta1",
        "CSIDriver CSINode StorageClass VolumeAttachment",
        22,
        "storage.k8s.io/v1",
    ),
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler", 25, "autoscaling/v2"),
    ("batch/v1beta1", "CronJob", 25, "batch/v1"),
    ("discovery.k8s.io/v1beta1", "EndpointSlice", 25, "discovery.k8s.io/v1"),
    ("node.k8s.io/v1beta1", "RuntimeClass", 25, "node.k8s.io/v1"),
    ("policy/v1beta1", "PodDisruptionBudget", 25, "policy/v1"),
    ("policy/v1beta1", "PodSecurityPolicy", 25, ""),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 26, "autoscaling/v2"),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity", 27, "storage.k8s.io/v1"),
    (
        "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema PriorityLevelConfiguration", 32,
        "flowcontrol.apiserver.k8s.io/v1",
    ),
];

/// The version and the kind of an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Versioned {
    api_version: String,
    kind: String,
    metadata: Metadata<Marks>,
}

fn gone(api_version: &str, kind: &str) -> Option<(u32, &'static str)> {
    let is_it =
        |it: &&(&str, &str, u32, &str)| it.0 == api_version && it.1.split(' ').any(|it| it == kind);
    GONE.iter().find(is_it).map(|it| (it.2, it.3))
}

/// Returns whether no cluster serves a kind in this version.
pub(super) fn is_gone(api_version: &str, kind: &str) -> bool {
    gone(api_version, kind).is_some()
}

/// Reads such an object, unless it is a hook of Helm: the release exists before the hook fails. Its name contains its
/// kind.
pub(super) fn read(json: &str) -> Option<(Metadata<Marks>, Role)> {
    let Versioned { api_version, kind, mut metadata } = serde_json::from_str(json).ok()?;
    let (since, instead) = gone(&api_version, &kind)?;
    if metadata.annotations.iter().any(|it| it.contains_key(HELM_HOOK)) {
        return None;
    }
    metadata.name = metadata.name.map(|it| format!("{kind} {it}"));
    let why = format!("in {api_version} since Kubernetes 1.{since}");
    let help = match instead {
        "" => "leave it out, and label the namespaces for Pod Security".to_owned(),
        version => format!("write it in {version}"),
    };
    Some((metadata, Role::Refused(Box::new(Refused::new(why, help)))))
}
