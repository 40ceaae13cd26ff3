//! The Pod Security Standards: the checks of the levels `baseline` and `restricted`.
//!
//! Kubernetes: k8s.io/pod-security-admission, `policy` and `api`.

mod checks;
mod standard;

use std::fmt;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{checks::CHECKS, standard::Check};
pub(crate) use self::{checks::SAFE_SYSCTLS, standard::Standard};

/// The label for the level that a namespace enforces.
pub const ENFORCE_LABEL: &str = "pod-security.kubernetes.io/enforce";
pub(crate) const VERSION_LABEL: &str = "pod-security.kubernetes.io/enforce-version";
pub(crate) const WARN_LABEL: &str = "pod-security.kubernetes.io/warn";
pub(crate) const WARN_VERSION_LABEL: &str = "pod-security.kubernetes.io/warn-version";

/// How the API server checks pods of namespaces without the label: the file of its
/// `--admission-control-config-file`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSecurityDefaults {
    /// The level of namespaces without the label `pod-security.kubernetes.io/enforce`.
    #[serde(default)]
    pub enforce: EnforcedLevel,
    /// Namespaces whose pods are not checked, whatever their labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt_namespaces: Vec<String>,
}

words! {
    /// A level of the Pod Security Standards.
    #[derive(
        Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord,
    )]
    #[serde(rename_all = "camelCase")]
    pub enum EnforcedLevel {
        /// Refuses nothing.
        #[default]
        Privileged => "privileged",
        /// Refuses known ways to the host.
        Baseline => "baseline",
        /// Also demands what limits a pod.
        Restricted => "restricted",
    }
}

impl PodSecurityDefaults {
    /// The configuration of an API server without the file.
    pub(crate) const NONE: Self =
        PodSecurityDefaults { enforce: EnforcedLevel::Privileged, exempt_namespaces: Vec::new() };

    /// Returns whether a namespace without a label may refuse pods.
    pub fn may_refuse(&self) -> bool {
        self.enforce > EnforcedLevel::Privileged
    }
}

/// A refusal lists at most this many values per check.
const MOST_NAMED: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedCheck {
    check: u8,
    what: Box<str>,
}

impl FailedCheck {
    pub(crate) fn by(standard: Standard, pod: &PodTemplateSpec) -> Vec<Self> {
        refusals(pod, |check| check.is_part_of(standard))
    }

    pub(crate) fn all(pod: &PodTemplateSpec) -> Vec<Self> {
        refusals(pod, |_| true)
    }

    pub(crate) fn is_by(&self, standard: Standard) -> bool {
        self.check().is_some_and(|check| check.is_part_of(standard))
    }

    fn check(&self) -> Option<&'static Check> {
        CHECKS.get(usize::from(self.check))
    }
}

/// For example, `hostPath volumes (proc, sys)`.
impl fmt::Display for FailedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.check().map(|check| check.reason).unwrap_or_default();
        write!(f, "{reason} ({})", self.what)
    }
}

fn refusals(pod: &PodTemplateSpec, wanted: impl Fn(&Check) -> bool) -> Vec<FailedCheck> {
    let checks = (0..).zip(CHECKS).filter(|(_, check)| wanted(check));
    let refusals = checks.filter_map(|(number, check)| {
        let mut what = (check.refuses)(pod);
        what.sort_unstable();
        what.dedup();
        let more = what.len().saturating_sub(MOST_NAMED);
        what.truncate(MOST_NAMED);
        let mut named = what.join(", ");
        if more > 0 {
            named.push_str(&format!(" and {more} more"));
        }
        (!named.is_empty()).then(|| FailedCheck { check: number, what: named.into() })
    });
    refusals.collect()
}
