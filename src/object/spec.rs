//! The two specs, with k8s-openapi's types inside.

use k8s_openapi::{
    api::{
        apps::v1::{
            DaemonSetUpdateStrategy, StatefulSetOrdinals,
            StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetUpdateStrategy,
        },
        core::v1::{PersistentVolumeClaim, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A pod template that has not been read yet.
pub type Unread<'a> = Option<&'a RawValue>;

/// The spec of a DaemonSet (apps/v1 `DaemonSetSpec`), with its template read or [`Unread`].
///
/// k8s-openapi's own type cannot distinguish an absent selector from an empty one; the API server
/// does.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct DaemonSetSpec<T = PodTemplateSpec> {
    /// Seconds a pod must be ready to count as available.
    pub min_ready_seconds: Option<i32>,
    /// How many old revisions are kept.
    pub revision_history_limit: Option<i32>,
    /// Which pods belong to it.
    pub selector: Option<LabelSelector>,
    /// What its pods look like.
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: T,
    /// How a changed template is rolled out.
    pub update_strategy: Option<DaemonSetUpdateStrategy>,
}

/// The spec of a StatefulSet (apps/v1 `StatefulSetSpec`); see [`DaemonSetSpec`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct StatefulSetSpec<T = PodTemplateSpec> {
    /// Seconds a pod must be ready to count as available.
    pub min_ready_seconds: Option<i32>,
    /// Where the ordinals of the pods begin.
    pub ordinals: Option<StatefulSetOrdinals>,
    /// What happens to claims when the set is deleted or scaled down.
    pub persistent_volume_claim_retention_policy:
        Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
    /// `OrderedReady` or `Parallel`.
    pub pod_management_policy: Option<String>,
    /// The number of pods.
    pub replicas: Option<i32>,
    /// How many old revisions are kept.
    pub revision_history_limit: Option<i32>,
    /// Which pods belong to it.
    pub selector: Option<LabelSelector>,
    /// The headless Service that names its pods.
    pub service_name: Option<String>,
    /// What its pods look like.
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: T,
    /// How a changed template is rolled out.
    pub update_strategy: Option<StatefulSetUpdateStrategy>,
    /// The templates of the claims that each pod gets.
    pub volume_claim_templates: Option<Vec<PersistentVolumeClaim>>,
}

/// `null` and absent are the same to the API server.
fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
