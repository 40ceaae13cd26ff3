//! PodDisruptionBudgets that allow no eviction.

mod neighbors;
mod status;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{
    finding::{Mode},
    kubernetes::int_or_percent::{number, percentage, to_value},
    rules::rule::Rule,
};

pub(super) static RULE: Rule = Rule {
    meta: meta! {
        id: "pdb-blocks-drain",
        summary: "a StatefulSet whose PodDisruptionBudget never allows an eviction",
        mode: Mode::Warn,
        adjustable: true,
    },
    scopes: &[neighbors::SCOPE, status::SCOPE],
    cel: None,
};

/// Returns the setting of a PodDisruptionBudget, if it requires all of this number of pods.
pub(super) fn wanted(
    min_available: Option<&IntOrString>,
    max_unavailable: Option<&IntOrString>,
    replicas: i64,
) -> Option<String> {
    if let Some(most) = max_unavailable {
        // A percentage is rounded up, so only zero is none.
        return (number(most) == 0).then(|| format!("maxUnavailable: {}", to_value(most)));
    }
    let least = min_available?;
    let wanted = match percentage(least) {
        Some(percent) => percent.saturating_mul(replicas).saturating_add(99) / 100,
        None => number(least),
    };
    (wanted >= replicas).then(|| format!("minAvailable: {}", to_value(least)))
}
