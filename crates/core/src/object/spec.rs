//! The two specs, with k8s-openapi's types inside.

use k8s_openapi::{
    api::{
        apps::v1::{
            DaemonSetUpdateStrategy, StatefulSetOrdinals,
            StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetUpdateStrategy,
        },
        core::v1::{
            PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
            PodTemplateSpec,
        },
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use serde::{Deserialize, Deserializer, Serialize};

/// The spec of a DaemonSet (apps/v1 `DaemonSetSpec`), with its template read, or as
/// [`LazyJson`](super::LazyJson).
///
/// k8s-openapi's own type cannot distinguish an absent selector from an empty one; the API server
/// does.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct DaemonSetSpec<T = PodTemplateSpec> {
    /// The number of seconds that a pod must be ready to count as available.
    pub min_ready_seconds: Option<i32>,
    /// The number of old revisions that are kept.
    pub revision_history_limit: Option<i32>,
    /// The selector of the pods that belong to the set.
    pub selector: Option<LabelSelector>,
    /// The template of its pods.
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: T,
    /// The update strategy for a changed template.
    pub update_strategy: Option<DaemonSetUpdateStrategy>,
}

/// The spec of a StatefulSet (apps/v1 `StatefulSetSpec`); see [`DaemonSetSpec`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct StatefulSetSpec<T = PodTemplateSpec> {
    /// The number of seconds that a pod must be ready to count as available.
    pub min_ready_seconds: Option<i32>,
    /// The first ordinal of the pods.
    pub ordinals: Option<StatefulSetOrdinals>,
    /// The policy for claims when the set is deleted or scaled down.
    pub persistent_volume_claim_retention_policy:
        Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
    /// `OrderedReady` or `Parallel`.
    pub pod_management_policy: Option<String>,
    /// The number of pods.
    pub replicas: Option<i32>,
    /// The number of old revisions that are kept.
    pub revision_history_limit: Option<i32>,
    /// The selector of the pods that belong to the set.
    pub selector: Option<LabelSelector>,
    /// The headless Service that names its pods.
    pub service_name: Option<String>,
    /// The template of its pods.
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: T,
    /// The update strategy for a changed template.
    pub update_strategy: Option<StatefulSetUpdateStrategy>,
    /// The templates of the claims that each pod gets.
    #[serde(default, deserialize_with = "claim_templates")]
    pub volume_claim_templates: Option<Vec<PersistentVolumeClaim>>,
}

impl<T> DaemonSetSpec<T> {
    /// Returns the spec with this template.
    pub(super) fn with_template<U>(self, template: U) -> DaemonSetSpec<U> {
        DaemonSetSpec {
            min_ready_seconds: self.min_ready_seconds,
            revision_history_limit: self.revision_history_limit,
            selector: self.selector,
            template,
            update_strategy: self.update_strategy,
        }
    }
}

impl<T> StatefulSetSpec<T> {
    /// Returns the spec with this template.
    pub(super) fn with_template<U>(self, template: U) -> StatefulSetSpec<U> {
        StatefulSetSpec {
            min_ready_seconds: self.min_ready_seconds,
            ordinals: self.ordinals,
            persistent_volume_claim_retention_policy: self.persistent_volume_claim_retention_policy,
            pod_management_policy: self.pod_management_policy,
            replicas: self.replicas,
            revision_history_limit: self.revision_history_limit,
            selector: self.selector,
            service_name: self.service_name,
            template,
            update_strategy: self.update_strategy,
            volume_claim_templates: self.volume_claim_templates,
        }
    }
}

/// A claim template. The API server ignores its `apiVersion` and `kind`; the type of k8s-openapi
/// does not.
#[derive(Deserialize)]
#[serde(rename = "PersistentVolumeClaim", rename_all = "camelCase")]
struct ClaimTemplate {
    #[serde(rename = "apiVersion")]
    _api_version: Option<String>,
    #[serde(rename = "kind")]
    _kind: Option<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    metadata: ObjectMeta,
    spec: Option<PersistentVolumeClaimSpec>,
    status: Option<PersistentVolumeClaimStatus>,
}

fn claim_templates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<PersistentVolumeClaim>>, D::Error> {
    let claim = |ClaimTemplate { metadata, spec, status, .. }| PersistentVolumeClaim {
        metadata,
        spec,
        status,
    };
    let claims = Option::<Vec<ClaimTemplate>>::deserialize(deserializer)?;
    Ok(claims.map(|claims| claims.into_iter().map(claim).collect()))
}

/// Decodes `null` like an absent field, as the API server does.
fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
