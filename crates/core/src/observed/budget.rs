use k8s_openapi::{
    api::policy::v1::PodDisruptionBudgetSpec,
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

use super::not_ready::LONGEST;
use crate::observed::prelude::*;
use crate::{finding::shorten, kubernetes::selector};

/// A PodDisruptionBudget.
#[derive(Clone, Debug)]
pub struct PodDisruptionBudget {
    pub namespace: Box<str>,
    pub name: Box<str>,
    /// Whether a controller, such as an operator, owns it.
    pub is_owned: bool,
    /// Whether the status is computed from this spec, and no pod is being evicted.
    pub is_current: bool,
    /// How many pods must be available.
    pub min_available: Option<IntOrString>,
    /// How many pods may be unavailable.
    pub max_unavailable: Option<IntOrString>,
    /// How many pods are expected.
    pub expected: i32,
    /// How many pods are healthy.
    pub healthy: i32,
    /// How many pods must be healthy.
    pub desired: i32,
    /// Whether an unready pod may be evicted at any time.
    pub evicts_unready: bool,
    /// How many evictions are allowed now.
    pub allowed: i32,
    /// Why the number of evictions cannot be computed.
    pub failure: Option<Box<str>>,
    selector: Option<LabelSelector>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    observed_generation: i64,
    disrupted_pods: Option<BTreeMap<Box<str>, IgnoredAny>>,
    expected_pods: i32,
    current_healthy: i32,
    desired_healthy: i32,
    disruptions_allowed: i32,
    conditions: Option<Vec<Condition>>,
}

impl PodDisruptionBudget {
    /// Reads a PodDisruptionBudget. Fails if the JSON is not a PodDisruptionBudget.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        let Whole::<Metadata, PodDisruptionBudgetSpec, Status> { metadata, spec, status } =
            serde_json::from_str(json)?;
        let mut conditions = status.conditions.iter().flatten();
        let failed = conditions.find(|it| it.reason.as_deref() == Some("SyncFailed"));
        let said = |it: &Condition| {
            shorten(it.message.as_deref().unwrap_or_default(), LONGEST).into_owned().into()
        };
        Ok(PodDisruptionBudget {
            namespace: metadata.namespace().into(),
            name: metadata.name().into(),
            is_owned: metadata.is_owned(),
            is_current: status.observed_generation >= metadata.generation
                && status.disrupted_pods.is_none_or(|pods| pods.is_empty()),
            min_available: spec.min_available,
            max_unavailable: spec.max_unavailable,
            expected: status.expected_pods,
            healthy: status.current_healthy,
            desired: status.desired_healthy,
            evicts_unready: spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow"),
            allowed: status.disruptions_allowed,
            failure: failed.map(said),
            selector: spec.selector,
        })
    }

    /// Returns whether the budget protects pods with these labels.
    pub fn selects(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        let selector = self.selector.as_ref().filter(|it| selector::parses(it));
        selector.is_some_and(|it| selector::matches_labels(it, labels))
    }

    pub(crate) fn asks_for(&self, key: &str, value: &str) -> bool {
        let labels = self.selector.as_ref().and_then(|it| it.match_labels.as_ref());
        labels.and_then(|it| it.get(key)).is_some_and(|it| it == value)
    }
}
