use k8s_openapi::{
    api::policy::v1::{PodDisruptionBudgetSpec, PodDisruptionBudgetStatus},
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

impl PodDisruptionBudget {
    /// Reads a PodDisruptionBudget. Fails if the JSON is not a PodDisruptionBudget.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        let Whole::<Metadata, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus> {
            metadata,
            spec,
            status,
        } = serde_json::from_str(json)?;
        let mut conditions = status.conditions.iter().flatten();
        let failed = conditions.find(|it| it.reason == "SyncFailed");
        Ok(PodDisruptionBudget {
            namespace: metadata.namespace().into(),
            name: metadata.name().into(),
            is_owned: metadata.controller().is_some(),
            is_current: status.observed_generation.unwrap_or_default() >= metadata.generation
                && status.disrupted_pods.as_ref().is_none_or(|pods| pods.is_empty()),
            min_available: spec.min_available,
            max_unavailable: spec.max_unavailable,
            expected: status.expected_pods.unwrap_or_default(),
            healthy: status.current_healthy.unwrap_or_default(),
            desired: status.desired_healthy.unwrap_or_default(),
            evicts_unready: spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow"),
            allowed: status.disruptions_allowed.unwrap_or_default(),
            failure: failed.map(|it| shorten(&it.message, LONGEST).into_owned().into()),
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
