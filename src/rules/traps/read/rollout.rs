//! How a changed template is rolled out.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

pub(crate) use crate::kubernetes::int_or_percent::scaled;
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
