use crate::object::{Object, Workload};
pub(crate) use crate::{kubernetes::int_or_percent::scaled, rollout::daemon_set::surges};

/// Such as `RollingUpdate` or `OnDelete`.
pub(crate) fn strategy<'a, T>(object: &'a Object<'_, T>) -> Option<&'a str> {
    match &object.workload {
        Workload::DaemonSet(spec) => spec.update_strategy.as_ref()?.type_.as_deref(),
        Workload::StatefulSet(spec) => spec.update_strategy.as_ref()?.type_.as_deref(),
    }
}
