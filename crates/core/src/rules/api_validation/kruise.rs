//! Validation of OpenKruise's sets beyond the rules for the built-in ones. OpenKruise's own webhooks reject the same
//! objects.
//!
//! OpenKruise: `validateRollingUpdateDaemonSet`, pkg/webhook/daemonset/validating/daemonset_validation.go;
//! `validateRollingUpdateStatefulSetStrategyType` and `validateMaxUnavailableField`,
//! pkg/webhook/statefulset/validating/statefulset_validation.go.

use crate::rules::prelude::*;
use crate::{object::KruiseSpec, validation::pod::util::non_negative};

/// For an immutable field of a StatefulSet. Claim templates can change.
pub(super) const IMMUTABLE: &str =
    "the fields 'selector', 'serviceName' and 'podManagementPolicy' cannot be changed";

pub(super) fn validate(object: &Object<'_>, own: &KruiseSpec, found: &mut Findings) {
    let path = found.at(&SPEC);
    match &object.workload {
        Workload::DaemonSet(spec) => daemon_set(spec, own, &path),
        Workload::StatefulSet(spec) => stateful_set(spec, own, &path),
    }
}

fn daemon_set(spec: &DaemonSetSpec, own: &KruiseSpec, path: &At<'_>) {
    // The custom resource's schema requires a selector; the built-in DaemonSet's does not.
    if spec.selector.is_none() {
        path.child("selector").required("");
    }
    let strategy = spec.update_strategy.as_ref();
    let rolls = strategy.and_then(|it| it.type_.as_deref()) == Some("RollingUpdate");
    let partition = own.rolling_update().and_then(|rolling| rolling.partition.as_ref());
    if let Some(partition) = partition.filter(|_| rolls) {
        let path = path.below("updateStrategy.rollingUpdate.partition");
        int_or_percent::validate(partition, &path);
        int_or_percent::not_more_than_100_percent(partition, &path);
    }
}

fn stateful_set(spec: &StatefulSetSpec, own: &KruiseSpec, path: &At<'_>) {
    let Some(strategy) = &spec.update_strategy else { return };
    if strategy.type_.as_deref() != Some("RollingUpdate") {
        return;
    }
    let path = path.below("updateStrategy.rollingUpdate");
    let ready = own.rolling_update().and_then(|rolling| rolling.min_ready_seconds);
    non_negative(ready, &path.child("minReadySeconds"));
    let at_once = strategy.rolling_update.as_ref().and_then(|it| it.max_unavailable.as_ref());
    if let Some(value) = at_once.filter(|value| **value != IntOrString::Int(1))
        && spec.pod_management_policy.as_deref() != Some("Parallel")
    {
        let detail = "must be 1 unless podManagementPolicy is 'Parallel'";
        path.child("maxUnavailable").invalid(int_or_percent::to_value(value), detail);
    }
}
