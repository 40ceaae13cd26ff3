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

/// The spec of a DaemonSet (apps/v1 `DaemonSetSpec`). Its template is decoded or a [`LazyJson`](super::LazyJson).
///
/// k8s-openapi's own type cannot distinguish an absent selector from an empty one; the API server does.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct DaemonSetSpec<T = PodTemplateSpec> {
    /// How many seconds a pod must be ready to count as available.
    pub min_ready_seconds: Option<i32>,
    /// How many old revisions are kept.
    pub revision_history_limit: Option<i32>,
    /// The selector of the set's pods.
    pub selector: Option<LabelSelector>,
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: T,
    /// How pods are updated when the template changes.
    pub update_strategy: Option<DaemonSetUpdateStrategy>,
}

/// The spec of a StatefulSet (apps/v1 `StatefulSetSpec`); see [`DaemonSetSpec`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct StatefulSetSpec<T = PodTemplateSpec> {
    /// How many seconds a pod must be ready to count as available.
    pub min_ready_seconds: Option<i32>,
    /// The ordinal of the first pod.
    pub ordinals: Option<StatefulSetOrdinals>,
    /// Whether claims are deleted when the set is deleted or scaled down.
    pub persistent_volume_claim_retention_policy:
        Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
    /// `OrderedReady` or `Parallel`.
    pub pod_management_policy: Option<String>,
    /// The number of pods.
    pub replicas: Option<i32>,
    /// Whether the object leaves `replicas` out, so that an autoscaler may set it.
    #[serde(skip)]
    pub leaves_out_replicas: bool,
    /// How many old revisions are kept.
    pub revision_history_limit: Option<i32>,
    /// The selector of the set's pods.
    pub selector: Option<LabelSelector>,
    /// The headless Service that the pods' DNS names come from.
    pub service_name: Option<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: T,
    /// How pods are updated when the template changes.
    pub update_strategy: Option<StatefulSetUpdateStrategy>,
    /// The templates for each pod's claims.
    #[serde(default, deserialize_with = "claim_templates")]
    pub volume_claim_templates: Option<Vec<PersistentVolumeClaim>>,
}

impl<T> DaemonSetSpec<T> {
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
    pub(super) fn with_template<U>(self, template: U) -> StatefulSetSpec<U> {
        StatefulSetSpec {
            min_ready_seconds: self.min_ready_seconds,
            ordinals: self.ordinals,
            persistent_volume_claim_retention_policy: self.persistent_volume_claim_retention_policy,
            pod_management_policy: self.pod_management_policy,
            replicas: self.replicas,
            leaves_out_replicas: self.leaves_out_replicas,
            revision_history_limit: self.revision_history_limit,
            selector: self.selector,
            service_name: self.service_name,
            template,
            update_strategy: self.update_strategy,
            volume_claim_templates: self.volume_claim_templates,
        }
    }
}

/// The API server ignores `apiVersion` and `kind` of a claim template; k8s-openapi's type does not.
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

/// The API server decodes null like an absent field.
fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
