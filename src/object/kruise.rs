//! What OpenKruise's sets have beside the fields of the built-in ones, as far as it is judged.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, de::IgnoredAny};

/// A part of the spec of an Advanced DaemonSet or an Advanced StatefulSet (`apps.kruise.io`). The
/// fields that mean what those of the built-in sets mean are read as theirs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KruiseSpec {
    /// Ordinals that no pod of a StatefulSet gets.
    pub reserve_ordinals: Option<Vec<IntOrString>>,
    /// How a changed template is rolled out.
    pub update_strategy: Option<KruiseUpdateStrategy>,
}

/// The update strategy of one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KruiseUpdateStrategy {
    /// With the type `RollingUpdate`.
    pub rolling_update: Option<KruiseRollingUpdate>,
}

/// The rolling update of one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KruiseRollingUpdate {
    /// `Standard`, `InPlaceIfPossible` or, in v1alpha1, `Surging`; of a DaemonSet.
    pub rolling_update_type: Option<String>,
    /// How many pods, or what share of them, keep the old template. A StatefulSet has a number.
    pub partition: Option<IntOrString>,
    /// Of a StatefulSet, which has it here and not in its spec.
    pub min_ready_seconds: Option<i32>,
    /// Pods of a StatefulSet are updated in another order than that of their ordinals.
    pub unordered_update: Option<IgnoredAny>,
}

impl KruiseSpec {
    /// The rolling update, if anything is said of it.
    pub fn rolling_update(&self) -> Option<&KruiseRollingUpdate> {
        self.update_strategy.as_ref()?.rolling_update.as_ref()
    }

    /// Whether its pods have other ordinals than those from the first to the last, or are updated
    /// in another order.
    pub fn goes_its_own_way(&self) -> bool {
        self.reserve_ordinals.as_ref().is_some_and(|reserved| !reserved.is_empty())
            || self.rolling_update().is_some_and(|rolling| rolling.unordered_update.is_some())
    }
}
