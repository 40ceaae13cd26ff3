//! The cluster that an object is meant for: its version and feature gates.
//!
//! They decide whether the API server honours a field. The defaults of each release are a table
//! here, never an `if` in a rule.

use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr};

use super::resource::Resource;
use crate::finding::nearest_of;

/// A minor release of Kubernetes: 1.36 is `Version { minor: 36 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The number after `1.`.
    pub minor: u32,
}

impl Version {
    /// The oldest release whose rules setguard knows.
    pub const OLDEST: Version = Version { minor: 33 };
    /// The newest release whose rules setguard knows, which is that of k8s-openapi.
    pub const NEWEST: Version = Version { minor: 37 };
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        let mut parts = bare.split('.');
        // Some clusters have a minor version such as `36+`.
        let minor = |text: &str| text.strip_suffix('+').unwrap_or(text).parse();
        let version = match (parts.next(), parts.next().map(minor)) {
            (Some("1"), Some(Ok(minor))) => Version { minor },
            _ => return Err(format!("{text:?} is not a Kubernetes release such as 1.36")),
        };
        if (Version::OLDEST..=Version::NEWEST).contains(&version) {
            Ok(version)
        } else {
            Err(format!(
                "Kubernetes {version} is not supported; the supported releases are {} to {}",
                Version::OLDEST,
                Version::NEWEST
            ))
        }
    }
}

/// A feature gate that changes a verdict.
#[derive(Clone, Copy, Debug)]
struct Gate {
    name: &'static str,
    /// (first minor release, default from there on), oldest first.
    defaults: &'static [(u32, bool)],
}

/// The gate of a StatefulSet's `maxUnavailable`. While it is off, the API server drops the field, and
/// the controller ignores it in objects that already have it.
pub const MAX_UNAVAILABLE_STATEFUL_SET: &str = "MaxUnavailableStatefulSet";

/// If this gate is on, a StatefulSet may have the update strategy `Recreate`.
pub const STATEFUL_SET_RECREATE_STRATEGY: &str = "StatefulSetRecreateStrategy";

/// Off in every supported release.
const OFF: &[(u32, bool)] = &[(0, false)];

/// Every gate that a rule depends on.
///
/// Kubernetes: `pkg/features/kube_features.go`.
const GATES: &[Gate] = &[
    // Also on in 1.35.0 to 1.35.3, off again since 1.35.4: the table follows the later patch
    // releases.
    Gate { name: MAX_UNAVAILABLE_STATEFUL_SET, defaults: &[(37, true)] },
    Gate { name: STATEFUL_SET_RECREATE_STRATEGY, defaults: OFF },
    // Gates for fields of the pod template.
    Gate { name: "ClusterTrustBundleProjection", defaults: &[(37, true)] },
    Gate { name: "ContainerRestartRules", defaults: &[(35, true)] },
    Gate { name: "ContainerStopSignals", defaults: OFF },
    Gate { name: "DynamicResourceAllocation", defaults: &[(34, true)] },
    Gate { name: "EnvFiles", defaults: &[(35, true)] },
    Gate { name: "GenericWorkload", defaults: OFF },
    Gate { name: "HostnameOverride", defaults: &[(35, true)] },
    Gate { name: "ImageVolume", defaults: &[(35, true)] },
    Gate { name: "InPlacePodVerticalScaling", defaults: &[(33, true)] },
    Gate { name: "MatchLabelKeysInPodAffinity", defaults: &[(0, true)] },
    Gate { name: "MatchLabelKeysInPodTopologySpread", defaults: &[(0, true)] },
    Gate { name: "MatchLabelKeysInPodTopologySpreadSelectorMerge", defaults: &[(34, true)] },
    Gate { name: "PodCertificateRequest", defaults: &[(37, true)] },
    Gate { name: "PodDeletionCost", defaults: &[(0, true)] },
    Gate { name: "PodLevelResources", defaults: &[(34, true)] },
    Gate { name: "PodLifecycleSleepActionAllowZero", defaults: &[(33, true)] },
    Gate { name: "ProcMountType", defaults: &[(33, true)] },
    Gate { name: "RelaxedDNSSearchValidation", defaults: &[(33, true)] },
    Gate { name: "RelaxedEnvironmentVariableValidation", defaults: &[(0, true)] },
    Gate { name: "RestartAllContainersOnContainerExits", defaults: &[(36, true)] },
    Gate { name: "SELinuxChangePolicy", defaults: &[(33, true)] },
    Gate { name: "SELinuxMount", defaults: &[(37, true)] },
    Gate { name: "StrictIPCIDRValidation", defaults: &[(36, true)] },
    Gate { name: "SupplementalGroupsPolicy", defaults: &[(33, true)] },
    Gate { name: "TaintTolerationComparisonOperators", defaults: OFF },
    Gate { name: "UserNamespacesHostNetworkSupport", defaults: OFF },
    Gate { name: "UserNamespacesSupport", defaults: &[(33, true)] },
    Gate { name: "VolumeAttributesClass", defaults: &[(34, true)] },
];

/// Releases in which the API server started to validate something without a feature gate.
///
/// Changes that all supported releases share are not listed: since 1.33, a StatefulSet's
/// `serviceName` is validated (kubernetes#130233), and its `revisionHistoryLimit` may change
/// (kubernetes#129017).
pub mod since {
    use super::Version;

    /// The pod template of a StatefulSet is validated (kubernetes#131790).
    pub const STATEFUL_SET_TEMPLATE_VALIDATED: Version = Version { minor: 34 };
    /// The claim templates of a StatefulSet are validated (kubernetes#132212).
    pub const CLAIM_TEMPLATES_VALIDATED: Version = Version { minor: 34 };
    /// A StatefulSet may have the update strategy `Recreate`, if its feature gate is on or if the
    /// stored object has it already (kubernetes#137187).
    pub const STATEFUL_SET_RECREATE: Version = Version { minor: 37 };
}

/// Version and feature gates of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its release.
    pub version: Version,
    gates: BTreeMap<String, bool>,
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster { version: Version::NEWEST, gates: BTreeMap::new() }
    }
}

impl Cluster {
    /// A cluster of this release. `gates` overrides the defaults of the release.
    pub const fn new(version: Version, gates: BTreeMap<String, bool>) -> Self {
        Cluster { version, gates }
    }

    /// Sets a gate, overriding its default.
    pub fn set_gate(&mut self, name: &str, on: bool) {
        self.gates.insert(name.to_owned(), on);
    }

    /// This cluster, of which another release and these gates are known. The gates that were set
    /// remain as they were.
    #[must_use]
    pub fn known_as(mut self, version: Version, gates: &BTreeMap<String, bool>) -> Self {
        self.version = version;
        for (name, on) in gates {
            self.gates.entry(name.clone()).or_insert(*on);
        }
        self
    }

    /// The cluster as it applies to this resource. For OpenKruise's StatefulSet, `maxUnavailable`
    /// takes effect without a feature gate.
    pub fn for_resource(&self, resource: &Resource) -> Cow<'_, Cluster> {
        if !resource.is_kruise() {
            return Cow::Borrowed(self);
        }
        let mut cluster = self.clone();
        cluster.set_gate(MAX_UNAVAILABLE_STATEFUL_SET, true);
        Cow::Owned(cluster)
    }

    /// Whether it has the changes of this release; see [`since`].
    pub fn has(&self, release: Version) -> bool {
        self.version >= release
    }

    /// A cluster of this version with every feature off.
    #[cfg(test)]
    pub(crate) fn without_features(version: Version) -> Self {
        Cluster::new(version, GATES.iter().map(|gate| (gate.name.to_owned(), false)).collect())
    }

    /// Whether a feature gate is on. A gate that is neither set nor in the table is off.
    pub fn enabled(&self, gate: &str) -> bool {
        self.gates.get(gate).copied().unwrap_or_else(|| {
            let known = GATES.iter().find(|known| known.name == gate);
            known
                .and_then(|known| {
                    known.defaults.iter().rev().find(|(since, _)| *since <= self.version.minor)
                })
                .is_some_and(|(_, on)| *on)
        })
    }
}

/// The known gate that a misspelt name was meant to be.
///
/// `None` if the name is known, or if it resembles no known gate: Kubernetes has many gates that no
/// rule depends on.
pub fn suggest_gate(name: &str) -> Option<&'static str> {
    nearest_of(name, gates()).filter(|_| !gates().any(|known| known == name))
}

/// The names of the gates that a rule depends on.
pub fn gates() -> impl Iterator<Item = &'static str> {
    GATES.iter().map(|gate| gate.name)
}

/// Parses `A=true,B=false`.
///
/// # Errors
/// The message names the part that is not `GATE=true` or `GATE=false`, or the misspelt gate.
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
    fn versions_are_read_with_their_borders() {
        assert_eq!("1.33".parse(), Ok(Version { minor: 33 }));
        for right in ["v1.36.2", "1.36+", "v1.36.2-eks-abc", "v1.36.2+k3s1"] {
            assert_eq!(right.parse(), Ok(Version { minor: 36 }), "{right}");
        }
        for wrong in ["1.32", "1.38", "2.0", "1", "", "1.x", "1.+", "1.36++"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_gate_has_a_default_and_can_be_set() {
        let mut cluster = Cluster::new(Version { minor: 36 }, BTreeMap::new());
        assert!(!cluster.enabled("MaxUnavailableStatefulSet"));
        assert!(Cluster::default().enabled("MaxUnavailableStatefulSet"), "on since 1.37");
        cluster.set_gate("MaxUnavailableStatefulSet", true);
        assert!(cluster.enabled("MaxUnavailableStatefulSet"));
        assert_eq!(parse_gates("A=true,B=false").unwrap().len(), 2);
        assert!(parse_gates("A=yes").is_err());
        let misspelt = parse_gates("MaxUnavailableStatefulset=true").unwrap_err();
        assert!(misspelt.contains("did you mean MaxUnavailableStatefulSet?"), "{misspelt}");
        // Real gates that no rule depends on.
        let gates = parse_gates("PodLevelResourceManagers=true,SchedulerQueueingHints=false");
        assert_eq!(gates.map(|gates| gates.len()), Ok(2));
    }
}
