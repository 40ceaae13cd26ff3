//! The fields that are pointers in Go, and the fields that are structs without a pointer, of the types that a DaemonSet
//! or a StatefulSet can contain.
//!
//! Kubernetes: the internal types in `pkg/apis/core/types.go` and `pkg/apis/apps/types.go`; the API server compares
//! these.

/// The zero value of a pointer to a scalar differs from absence.
pub(super) fn is_pointer(owner: &str, field: &str) -> bool {
    contains(POINTERS, owner, field)
}

/// An empty struct without a pointer equals absence.
pub(super) fn is_plain_struct(owner: &str, field: &str) -> bool {
    contains(PLAIN_STRUCTS, owner, field)
}

fn contains(table: &[(&str, &[&str])], owner: &str, field: &str) -> bool {
    table.iter().any(|(name, fields)| *name == owner && fields.contains(&field))
}

/// The API server removes these annotations from a pod template. Kubernetes: `initContainerAnnotations`,
/// `pkg/apis/core/v1/conversion.go`.
pub(super) const INIT_CONTAINER_ANNOTATIONS: &[&str] = &[
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

const POINTERS: &[(&str, &[&str])] = &[
    ("AppArmorProfile", &["localhostProfile"]),
    ("AzureDiskVolumeSource", &["cachingMode", "fsType", "readOnly", "kind"]),
    ("CSIVolumeSource", &["readOnly", "fsType"]),
    ("ClusterTrustBundleProjection", &["name", "signerName", "optional"]),
    ("ConfigMapEnvSource", &["optional"]),
    ("ConfigMapKeySelector", &["optional"]),
    ("ConfigMapProjection", &["optional"]),
    ("ConfigMapVolumeSource", &["defaultMode", "optional"]),
    ("Container", &["restartPolicy"]),
    ("DaemonSetSpec", &["revisionHistoryLimit"]),
    ("DownwardAPIVolumeFile", &["mode"]),
    ("DownwardAPIVolumeSource", &["defaultMode"]),
    ("EmptyDirVolumeSource", &["sizeLimit"]),
    ("EphemeralContainer", &["restartPolicy"]),
    ("FCVolumeSource", &["lun"]),
    ("FileKeySelector", &["optional"]),
    ("GRPCAction", &["service"]),
    ("HostPathVolumeSource", &["type"]),
    ("ISCSIVolumeSource", &["initiatorName"]),
    ("KeyToPath", &["mode"]),
    ("Lifecycle", &["stopSignal"]),
    ("OwnerReference", &["controller", "blockOwnerDeletion"]),
    ("PersistentVolumeClaimSpec", &["storageClassName", "volumeMode", "volumeAttributesClassName"]),
    ("PersistentVolumeClaimStatus", &["currentVolumeAttributesClassName"]),
    ("PodCertificateProjection", &["maxExpirationSeconds"]),
    ("PodDNSConfigOption", &["value"]),
    ("PodResourceClaim", &["resourceClaimName", "resourceClaimTemplateName"]),
    ("PodSchedulingGroup", &["podGroupName"]),
    (
        "PodSecurityContext",
        &[
            "runAsUser", "runAsGroup", "runAsNonRoot", "supplementalGroupsPolicy", "fsGroup",
            "fsGroupChangePolicy", "seLinuxChangePolicy",
        ],
    ),
    (
        "PodSpec",
        &[
            "terminationGracePeriodSeconds", "activeDeadlineSeconds",
            "automountServiceAccountToken", "shareProcessNamespace", "priority",
            "runtimeClassName", "enableServiceLinks", "preemptionPolicy", "setHostnameAsFQDN",
            "hostUsers", "hostnameOverride",
        ],
    ),
    ("Probe", &["terminationGracePeriodSeconds"]),
    ("ProjectedVolumeSource", &["defaultMode"]),
    ("RollingUpdateStatefulSetStrategy", &["maxUnavailable"]),
    ("SeccompProfile", &["localhostProfile"]),
    ("SecretEnvSource", &["optional"]),
    ("SecretKeySelector", &["optional"]),
    ("SecretProjection", &["optional"]),
    ("SecretVolumeSource", &["defaultMode", "optional"]),
    (
        "SecurityContext",
        &[
            "privileged", "runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem",
            "allowPrivilegeEscalation", "procMount",
        ],
    ),
    ("StatefulSetSpec", &["revisionHistoryLimit"]),
    ("Toleration", &["tolerationSeconds"]),
    ("TopologySpreadConstraint", &["minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"]),
    ("TypedLocalObjectReference", &["apiGroup"]),
    ("TypedObjectReference", &["apiGroup", "namespace"]),
    ("VolumeMount", &["recursiveReadOnly", "mountPropagation"]),
    (
        "WindowsSecurityContextOptions",
        &["gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName", "hostProcess"],
    ),
    ("ObjectMeta", &["deletionGracePeriodSeconds"]),
];

const PLAIN_STRUCTS: &[(&str, &[&str])] = &[
    ("Container", &["resources"]),
    ("DaemonSetSpec", &["template", "updateStrategy"]),
    ("EphemeralContainer", &["resources"]),
    ("PersistentVolumeClaim", &["metadata", "spec", "status"]),
    ("PersistentVolumeClaimSpec", &["resources"]),
    ("PersistentVolumeClaimTemplate", &["metadata", "spec"]),
    ("PodTemplateSpec", &["metadata", "spec"]),
    ("PreferredSchedulingTerm", &["preference"]),
    ("StatefulSetSpec", &["template", "updateStrategy"]),
    ("WeightedPodAffinityTerm", &["podAffinityTerm"]),
];
