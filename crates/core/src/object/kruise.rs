//! The fields that only OpenKruise's sets have, as far as rules use them.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, de::IgnoredAny};

/// A part of the spec of an Advanced DaemonSet or an Advanced StatefulSet (`apps.kruise.io`), without the fields that
/// mean the same in the built-in sets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KruiseSpec {
    /// The ordinals that a StatefulSet skips.
    pub reserve_ordinals: Option<Vec<IntOrString>>,
    /// The update strategy for a changed template.
    pub update_strategy: Option<KruiseUpdateStrategy>,
}

/// The update strategy of an OpenKruise set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KruiseUpdateStrategy {
    /// The settings for the type `RollingUpdate`.
    pub rolling_update: Option<KruiseRollingUpdate>,
}

/// The rolling update of an OpenKruise set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KruiseRollingUpdate {
    /// The type, only in a DaemonSet: `Standard`, `InPlaceIfPossible` or, in v1alpha1, `Surging`.
    pub rolling_update_type: Option<String>,
    /// The number or percentage of pods that keep the old template. A StatefulSet has a number.
    pub partition: Option<IntOrString>,
    /// The minimum ready time of a StatefulSet. OpenKruise has this field here, not in the spec.
    pub min_ready_seconds: Option<i32>,
    /// The settings that update the pods of a StatefulSet in an order other than by ordinal.
    pub unordered_update: Option<IgnoredAny>,
}

impl KruiseSpec {
    /// Returns the rolling update, if it is set.
    pub fn rolling_update(&self) -> Option<&KruiseRollingUpdate> {
        self.update_strategy.as_ref()?.rolling_update.as_ref()
    }

    /// Returns whether ordinals may have gaps, or pods are not updated by ordinal.
    pub fn has_custom_order(&self) -> bool {
        self.reserve_ordinals.as_ref().is_some_and(|reserved| !reserved.is_empty())
            || self.rolling_update().is_some_and(|rolling| rolling.unordered_update.is_some())
    }
}
