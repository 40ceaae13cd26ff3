//! The limits of a policy for some objects.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::rules::traps::read::scaled;

/// The consequences that a change must not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The number of pods, or the share of the pods that there are, that may be down at once.
    pub at_most_unavailable: Option<IntOrString>,
    /// Whether claims may be deleted.
    pub deletes_claims: bool,
    /// Whether a rollout may begin that cannot end.
    pub never_ends: bool,
    /// Whether all pods may be replaced in one wave.
    pub replaces_all: bool,
    /// The reason for the limits.
    pub reason: String,
}

impl Limits {
    pub(super) fn why(&self, limit: &str) -> String {
        format!("the policy forbids it by {limit} ({})", self.reason.trim())
    }

    /// Returns the number of pods that may be down at once, of this many, and the limit as text.
    pub(super) fn most_of(&self, all: i64) -> Option<(i64, String)> {
        let limit = self.at_most_unavailable.as_ref()?;
        let most = scaled(limit, all.try_into().ok()?, true)?;
        let text = match limit {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        };
        Some((most, format!("atMostUnavailable: {text}")))
    }
}
