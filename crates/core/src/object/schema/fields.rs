//! The fields that some releases lack.
//!
//! `tests/conformance/generation/README.md` has the command that derives the table from the OpenAPI of running API
//! servers.

use crate::kubernetes::version::Version;

struct Field {
    /// k8s-openapi's name of the type.
    of: &'static str,
    name: &'static str,
    /// The first and the last minor release with the field.
    since: u32,
    until: Option<u32>,
}

const fn since(minor: u32, of: &'static str, name: &'static str) -> Field {
    Field { of, name, since: minor, until: None }
}

/// Without entirely new types: only a new field leads to them.
const FIELDS: &[Field] = &[
    since(37, "ClusterTrustBundleProjection", "user"),
    since(37, "ConfigMapVolumeSource", "defaultUser"),
    since(34, "Container", "restartPolicyRules"),
    since(37, "DownwardAPIVolumeFile", "user"),
    since(37, "DownwardAPIVolumeSource", "defaultUser"),
    since(37, "EmptyDirVolumeSource", "mode"),
    since(34, "EnvVarSource", "fileKeyRef"),
    since(34, "EphemeralContainer", "restartPolicyRules"),
    since(37, "GRPCAction", "mode"),
    since(37, "HTTPGetAction", "protocol"),
    since(37, "KeyToPath", "user"),
    since(37, "PersistentVolumeClaimStatus", "healthStatus"),
    since(37, "PodCertificateProjection", "user"),
    since(35, "PodCertificateProjection", "userAnnotations"),
    since(37, "PodSpec", "evictionResponders"),
    since(34, "PodSpec", "hostnameOverride"),
    since(36, "PodSpec", "schedulingGroup"),
    Field { of: "PodSpec", name: "workloadRef", since: 35, until: Some(35) },
    since(37, "ProjectedVolumeSource", "defaultUser"),
    since(37, "SecretVolumeSource", "defaultUser"),
    since(37, "ServiceAccountTokenProjection", "user"),
    since(37, "VolumeMount", "bindMountOptions"),
    since(34, "VolumeProjection", "podCertificate"),
];

/// k8s-openapi's newest types lack these fields. All are strings.
const REMOVED: &[(&str, &str, &[&str])] =
    &[("PodSpec", "workloadRef", &["name", "podGroup", "podGroupReplicaKey"])];

/// Fields that are often in the wrong place: the types that lack them, the fields, and the right place.
const ELSEWHERE: &[(&[&str], &[&str], &str)] = &[
    (
        &["DaemonSetSpec"],
        &["replicas"],
        "a DaemonSet has no replicas: it runs one pod on each node that its template allows",
    ),
    (
        &["DaemonSetSpec"],
        &["serviceName", "volumeClaimTemplates", "podManagementPolicy", "ordinals"],
        "only a StatefulSet has this field",
    ),
    (
        &["DaemonSetSpec", "StatefulSetSpec"],
        &["strategy"],
        "this is the field of a Deployment; here it is updateStrategy",
    ),
    (&["DaemonSetSpec", "StatefulSetSpec"], OF_POD, "this belongs in spec.template.spec"),
    (&["PodTemplateSpec"], OF_POD, "this belongs in the spec of the template"),
    (
        &["DaemonSetSpec", "StatefulSetSpec", "PodTemplateSpec"],
        &["labels", "annotations", "name"],
        "this belongs in metadata",
    ),
    (&["Container"], OF_POD, "this belongs in spec.template.spec, next to containers"),
    (&["PodSpec"], OF_CONTAINER, "this belongs in a container"),
];
const OF_POD: &[&str] = &[
    "affinity", "containers", "hostNetwork", "imagePullSecrets", "initContainers", "nodeSelector",
    "serviceAccountName", "terminationGracePeriodSeconds", "tolerations", "volumes",
];
const OF_CONTAINER: &[&str] = &[
    "args", "command", "env", "envFrom", "image", "imagePullPolicy", "livenessProbe", "ports",
    "readinessProbe", "startupProbe", "volumeMounts",
];

fn elsewhere(of: &str, name: &str) -> Option<String> {
    let here =
        |(types, names, _): &&(&[&str], &[&str], _)| types.contains(&of) && names.contains(&name);
    ELSEWHERE.iter().find(here).map(|(.., place)| (*place).to_owned())
}

impl Field {
    fn is_in(&self, release: Version) -> bool {
        let minor = release.minor();
        self.since <= minor && self.until.is_none_or(|last| minor <= last)
    }
}

/// Returns the releases that have the field, or the place where it belongs.
pub(super) fn absent(of: &str, name: &str, release: Version) -> Option<String> {
    let Some(field) = FIELDS.iter().find(|field| field.of == of && field.name == name) else {
        return elsewhere(of, name);
    };
    if field.is_in(release) {
        return None;
    }
    let minor = field.since;
    Some(match field.until {
        Some(last) if last == minor => {
            format!("{name} exists only in Kubernetes 1.{minor}; the target is {release}")
        }
        Some(last) => format!(
            "{name} exists only in Kubernetes 1.{minor} to 1.{last}; the target is {release}"
        ),
        None => {
            format!("{name} exists from Kubernetes 1.{minor} on; the target is {release}")
        }
    })
}

/// Returns the names in a field that this release has and k8s-openapi's type lacks.
pub(super) fn extra(of: &str, name: &str, release: Version) -> Option<&'static [&'static str]> {
    let field = FIELDS.iter().find(|field| field.of == of && field.name == name)?;
    let (.., names) = REMOVED.iter().find(|(it, field, _)| *it == of && *field == name)?;
    field.is_in(release).then_some(*names)
}
