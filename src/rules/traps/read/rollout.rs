//! How a changed template is rolled out.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::object::{DaemonSetSpec, Object, Workload};

/// The type of the update strategy: `RollingUpdate` or `OnDelete`.
pub(crate) fn strategy<'a>(object: &'a Object<'_>) -> Option<&'a str> {
    match &object.workload {
        Workload::DaemonSet(spec) => spec.update_strategy.as_ref()?.type_.as_deref(),
        Workload::StatefulSet(spec) => spec.update_strategy.as_ref()?.type_.as_deref(),
    }
}

/// Whether a rolling update starts new pods before it deletes the old ones. `false` if `maxSurge`
/// is neither a number nor a percentage: the API server refuses that.
///
/// Kubernetes: `SurgeCount(ds, 1) > 0`, pkg/controller/daemon/util/daemonset_util.go.
pub(crate) fn surges(spec: &DaemonSetSpec) -> bool {
    let strategy = spec.update_strategy.as_ref();
    let strategy = strategy.filter(|it| it.type_.as_deref() == Some("RollingUpdate"));
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    match rolling.and_then(|rolling| rolling.max_surge.as_ref()) {
        Some(IntOrString::Int(count)) => *count > 0,
        Some(IntOrString::String(text)) => {
            text.strip_suffix('%').is_some_and(|percent| percent.parse().is_ok_and(|p: u64| p > 0))
        }
        None => false,
    }
}

/// The value as a count: a percentage is taken of `total`. `None` for a string that the API server
/// refuses.
///
/// Kubernetes: `GetScaledValueFromIntOrPercent`, apimachinery pkg/util/intstr/intstr.go.
pub(crate) fn scaled(value: &IntOrString, total: i32, round_up: bool) -> Option<i64> {
    match value {
        IntOrString::Int(count) => Some((*count).into()),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let hundredfold = percent.checked_mul(total.into())?;
            Some(hundredfold.checked_add(if round_up { 99 } else { 0 })? / 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_asked() {
        let percent = |text: &str| IntOrString::String(text.to_owned());
        assert_eq!(scaled(&percent("30%"), 3, false), Some(0));
        assert_eq!(scaled(&percent("30%"), 3, true), Some(1));
        assert_eq!(scaled(&percent("0%"), 3, true), Some(0));
        assert_eq!(scaled(&percent("100%"), 3, false), Some(3));
        assert_eq!(scaled(&percent("x"), 3, true), None);
        assert_eq!(scaled(&percent("9223372036854775807%"), 1, true), None);
        assert_eq!(scaled(&IntOrString::Int(7), 3, true), Some(7));
    }
}
