//! The version and feature gates of a cluster. They decide which fields the API server accepts.
//!
//! The defaults of each release are in a table here, never in an `if` in a rule.

use std::{borrow::Cow, collections::BTreeMap};

use super::{pod_security::PodSecurityDefaults, resource::Resource};
use crate::finding::nearest_of;

pub use super::version::Version;

/// While this gate is off, the API server drops `maxUnavailable` of a StatefulSet, and the controller ignores it.
pub const MAX_UNAVAILABLE_STATEFUL_SET: &str = "MaxUnavailableStatefulSet";

/// The gate of the update strategy `Recreate` of a StatefulSet.
pub const STATEFUL_SET_RECREATE_STRATEGY: &str = "StatefulSetRecreateStrategy";

/// Off in every supported release.
const OFF: u32 = u32::MAX;

/// With the first minor release where the gate is on by default. Kubernetes: `pkg/features/kube_features.go`.
const GATES: &[(&str, u32)] = &[
    // Also on in the first patch releases of 1.35; see `EARLY_PATCHES`.
    (MAX_UNAVAILABLE_STATEFUL_SET, 37),
    (STATEFUL_SET_RECREATE_STRATEGY, OFF),
    // The gates below are for fields of the pod template.
    ("AtomicWriteVolumeUserFields", OFF),
    ("ClusterTrustBundleProjection", 37),
    ("ContainerRestartRules", 35),
    ("ContainerStopSignals", OFF),
    ("DynamicResourceAllocation", 34),
    ("EmptyDirVolumeMode", OFF),
    ("EnvFiles", 35),
    ("EvictionRequestAPI", OFF),
    ("GRPCContainerProbeTLS", OFF),
    ("GenericWorkload", OFF),
    ("H2CContainerProbe", OFF),
    ("GitRepoVolumeDriver", OFF),
    ("HostnameOverride", 35),
    ("ImageVolume", 35),
    ("InPlacePodVerticalScaling", 33),
    ("MatchLabelKeysInPodAffinity", 0),
    ("MatchLabelKeysInPodTopologySpread", 0),
    ("MatchLabelKeysInPodTopologySpreadSelectorMerge", 34),
    ("PodCertificateRequest", 37),
    ("PodDeletionCost", 0),
    ("PodLevelResources", 34),
    ("PodLifecycleSleepActionAllowZero", 33),
    ("ProcMountType", 33),
    ("RelaxedDNSSearchValidation", 33),
    ("RelaxedEnvironmentVariableValidation", 0),
    ("RestartAllContainersOnContainerExits", 36),
    ("SELinuxChangePolicy", 33),
    ("SELinuxMount", 37),
    ("StrictIPCIDRValidation", 36),
    ("SupplementalGroupsPolicy", 33),
    ("TaintTolerationComparisonOperators", OFF),
    ("UserNamespacesHostNetworkSupport", OFF),
    ("UserNamespacesSupport", 33),
    ("VolumeAttributesClass", 34),
    ("VolumeBindMountOptions", OFF),
];

/// (gate, minor release, first patch release with the default of [`GATES`], default before it). Kubernetes: the gate
/// was on in 1.35.0 to 1.35.3 (kubernetes#137904).
pub(super) const EARLY_PATCHES: &[(&str, u32, u32, bool)] =
    &[(MAX_UNAVAILABLE_STATEFUL_SET, 35, 4, true)];

/// The releases that changed the API server's validation without a feature gate.
///
/// Changes that all supported releases share are not listed: since 1.33, the API server validates a StatefulSet's
/// `serviceName` (kubernetes#130233) and lets its `revisionHistoryLimit` change (kubernetes#129017).
pub mod since {
    use super::Version;

    /// The API server validates a DaemonSet's `generateName` less strictly on UPDATE than on CREATE.
    pub const DAEMON_SET_PREFIX_EASED: Version = Version::of_minor(34);
    /// The feature gate `ContainerRestartRules` exists. Earlier releases reject every restart policy of an init
    /// container except `Always`.
    pub const CONTAINER_RESTART_RULES: Version = Version::of_minor(34);
    /// The API server compares a deprecated AppArmor annotation with the pod's profile before it warns.
    pub const APP_ARMOR_COMPARED: Version = Version::of_minor(34);
    /// The API server compares a projected source only once with the files of a source after it that lists none.
    pub const NO_FILES_TWICE: Version = Version::of_minor(34);
    /// The API server calls an IP address in an old form invalid.
    pub const OLD_IP_INVALID: Version = Version::of_minor(36);
    /// Block volumes require the host's user namespace.
    pub const VOLUME_DEVICES_NEED_HOST_USERS: Version = Version::of_minor(34);
    /// The pod template of a StatefulSet is validated (kubernetes#131790).
    pub const STATEFUL_SET_TEMPLATE_VALIDATED: Version = Version::of_minor(34);
    /// The claim templates of a StatefulSet are validated (kubernetes#132212).
    pub const CLAIM_TEMPLATES_VALIDATED: Version = Version::of_minor(34);
    /// An empty CSI driver is reported once, as missing, and not also as a malformed name.
    pub const EMPTY_CSI_DRIVER_ONCE: Version = Version::of_minor(35);
    /// An init container with restart rules needs a restart policy.
    pub const INIT_RULES_NEED_POLICY: Version = Version::of_minor(35);
    /// The operators `Lt` and `Gt` of tolerations exist, behind a feature gate.
    pub const TOLERATION_COMPARISON: Version = Version::of_minor(35);
    /// An init container that isn't a sidecar may not have `RestartContainer` in its `resizePolicy`.
    pub const INIT_RESIZE_VALIDATED: Version = Version::of_minor(36);
    /// Too many restart rules or exit codes are `TooMany`; `TooLong` in earlier releases.
    pub const TOO_MANY_RESTART_RULES: Version = Version::of_minor(36);
    /// Errors in `shareProcessNamespace` have its path; a path in the security context in earlier releases.
    pub const SHARE_PROCESS_NAMESPACE_PATH: Version = Version::of_minor(37);
    /// The printed form of a projected cluster trust bundle includes the user.
    pub const TRUST_BUNDLE_USER: Version = Version::of_minor(37);
    /// Errors in owner references contain the index of the owner (`validateOwnerReference`).
    pub const OWNERS_INDEXED: Version = Version::of_minor(37);
    /// The error for a changed immutable field of a StatefulSet names the field.
    pub const STATEFUL_SET_IMMUTABLE_FIELDS: Version = Version::of_minor(37);
    /// The API server keeps `CAP_SYS_ADMIN` with `allowPrivilegeEscalation: false` if the stored template has both.
    pub const SYS_ADMIN_KEPT: Version = Version::of_minor(37);
    /// An image volume needs a reference.
    pub const IMAGE_REFERENCE_REQUIRED: Version = Version::of_minor(37);
    /// MutatingAdmissionPolicies are in a beta version of the API.
    pub const MUTATING_ADMISSION_POLICY_BETA: Version = Version::of_minor(34);
    /// MutatingAdmissionPolicies are in the stable version of the API.
    pub const MUTATING_ADMISSION_POLICY: Version = Version::of_minor(36);
    /// kube-apiserver can read admission policies from files; the feature gate is off by default.
    pub const STATIC_ADMISSION_ALPHA: Version = Version::of_minor(36);
    /// The feature gate for these files, `ManifestBasedAdmissionControlConfig`, is on by default.
    pub const STATIC_ADMISSION: Version = Version::of_minor(37);
    /// The update strategy `Recreate` of a StatefulSet exists, behind a feature gate (kubernetes#137187).
    pub const STATEFUL_SET_RECREATE: Version = Version::of_minor(37);
    /// With parallel pods, the controller replaces unavailable pods first, whatever `maxUnavailable` is.
    pub const REPLACES_UNAVAILABLE_FIRST: Version = Version::of_minor(37);
}

/// The version and feature gates of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The Kubernetes release.
    pub version: Version,
    /// Whether the API server reported the release.
    pub api_server: ApiServer,
    /// The Pod Security of namespaces without a label.
    pub pod_security: PodSecurityDefaults,
    pub(crate) gates: BTreeMap<String, bool>,
}

/// Whether an API server reported its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApiServer {
    /// No API server has reported its release. The release is assumed, or comes from the policy.
    #[default]
    Unseen,
    /// The API server reported a release that setguard knows.
    Known,
    /// The API server reported a release newer than the newest that setguard knows.
    Newer,
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster::new(Version::NEWEST, BTreeMap::new())
    }
}

impl Cluster {
    /// Creates a cluster. `gates` overrides the defaults of the release.
    pub const fn new(version: Version, gates: BTreeMap<String, bool>) -> Self {
        let pod_security = PodSecurityDefaults::NONE;
        Cluster { version, api_server: ApiServer::Unseen, pod_security, gates }
    }

    /// Sets a gate, overriding its default.
    pub fn set_gate(&mut self, name: &str, on: bool) {
        self.gates.insert(name.to_owned(), on);
    }

    /// Sets the discovered release and gates. Gates that were set explicitly stay as they are.
    #[must_use]
    pub fn known_as(mut self, version: Version, gates: &BTreeMap<String, bool>) -> Self {
        self.version = version;
        for (name, on) in gates {
            self.gates.entry(name.clone()).or_insert(*on);
        }
        self
    }

    /// Returns the cluster for a resource: `maxUnavailable` of OpenKruise's StatefulSet needs no feature gate.
    pub fn for_resource(&self, resource: &Resource) -> Cow<'_, Cluster> {
        if !resource.is_kruise() {
            return Cow::Borrowed(self);
        }
        let mut cluster = self.clone();
        cluster.set_gate(MAX_UNAVAILABLE_STATEFUL_SET, true);
        Cow::Owned(cluster)
    }

    /// Returns whether the cluster runs this release or a later one; see [`since`].
    pub fn has(&self, release: Version) -> bool {
        self.version.minor() >= release.minor()
    }

    /// Returns clusters that cover the extremes: each accepts something that the others may refuse.
    pub(crate) fn extremes() -> [Self; 3] {
        let all_on = gates().map(|gate| (gate.to_owned(), true)).collect();
        let newest = Cluster::new(Version::NEWEST, all_on);
        [newest, Cluster::default(), Cluster::new(Version::OLDEST, BTreeMap::new())]
    }

    #[cfg(test)]
    pub(crate) fn without_features(version: Version) -> Self {
        Cluster::new(version, gates().map(|gate| (gate.to_owned(), false)).collect())
    }

    /// Returns whether a feature gate is on. A gate that is neither set nor in the table is off.
    pub fn enabled(&self, gate: &str) -> bool {
        self.gates.get(gate).copied().unwrap_or_else(|| {
            let early = EARLY_PATCHES.iter().find(|(name, minor, first, _)| {
                *name == gate && self.version.is_before_patch(*minor, *first)
            });
            if let Some((.., on)) = early {
                return *on;
            }
            let known = GATES.iter().find(|(name, _)| *name == gate);
            known.is_some_and(|(_, since)| *since <= self.version.minor())
        })
    }
}

/// Returns the known gate that a misspelt name resembles. Real gates that no rule depends on resemble none.
pub fn suggest_gate(name: &str) -> Option<&'static str> {
    nearest_of(name, gates()).filter(|_| !gates().any(|known| known == name))
}

/// Returns the names of the gates that rules depend on.
pub fn gates() -> impl Iterator<Item = &'static str> {
    GATES.iter().map(|(name, _)| *name)
}

/// Parses `A=true,B=false`. The error quotes the part that is neither `GATE=true` nor `GATE=false`, or the misspelt
/// gate.
pub fn parse_gates(text: &str) -> Result<BTreeMap<String, bool>, String> {
    text.split(',')
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.split_once('=')
                .and_then(|(name, on)| Some((name.trim().to_owned(), on.trim().parse().ok()?)))
                .ok_or_else(|| format!("{part:?} is not GATE=true or GATE=false"))
                .and_then(|(name, on): (String, bool)| match suggest_gate(&name) {
                    Some(near) => Err(format!("there is no gate {name:?}; did you mean {near}?")),
                    None => Ok((name, on)),
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_has_a_default_and_can_be_set() {
        let mut cluster = Cluster::new(Version::of_minor(36), BTreeMap::new());
        assert!(!cluster.enabled("MaxUnavailableStatefulSet"));
        assert!(Cluster::default().enabled("MaxUnavailableStatefulSet"), "on since 1.37");
        cluster.set_gate("MaxUnavailableStatefulSet", true);
        assert!(cluster.enabled("MaxUnavailableStatefulSet"));
        assert_eq!(parse_gates("A=true,B=false").unwrap().len(), 2);
        assert!(parse_gates("A=yes").is_err());
        for (release, on) in [("1.35", false), ("1.35.3", true), ("1.35.4", false)] {
            let cluster = Cluster::new(release.parse().unwrap(), BTreeMap::new());
            assert_eq!(cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET), on, "{release}");
        }
        let misspelt = parse_gates("MaxUnavailableStatefulset=true").unwrap_err();
        assert!(misspelt.contains("did you mean MaxUnavailableStatefulSet?"), "{misspelt}");
        // Real gates that no rule depends on.
        let gates = parse_gates("PodLevelResourceManagers=true,SchedulerQueueingHints=false");
        assert_eq!(gates.map(|gates| gates.len()), Ok(2));
    }
}
