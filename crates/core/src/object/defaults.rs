//! The defaults that kube-apiserver sets before validation.
//!
//! Kubernetes: `pkg/apis/apps/v1/defaults.go`. `SetObjectDefaults_DaemonSet` and `SetObjectDefaults_StatefulSet`,
//! `pkg/apis/apps/v1/zz_generated.defaults.go`, list the functions of `pkg/apis/core/v1/defaults.go` that apply.

mod pod;
mod shared;

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSetUpdateStrategy, StatefulSetUpdateStrategy},
        core::v1::PodTemplateSpec,
    },
    apimachinery::pkg::util::intstr::IntOrString,
};

use self::shared::{is_empty, text};
use super::{
    kruise::KruiseSpec,
    spec::{DaemonSetSpec, StatefulSetSpec},
};
use crate::kubernetes::int_or_percent;

/// Applies `SetDefaults_PodSpec` and everything below it.
pub fn template(template: &mut PodTemplateSpec) {
    pod::template(template);
}

/// Applies `SetDefaults_DaemonSet`.
pub fn daemon_set<T>(spec: &mut DaemonSetSpec<T>) {
    let strategy = spec.update_strategy.get_or_insert_default();
    text(&mut strategy.type_, "RollingUpdate");
    if let DaemonSetUpdateStrategy { type_: Some(kind), rolling_update } = strategy
        && kind == "RollingUpdate"
    {
        let rolling = rolling_update.get_or_insert_default();
        rolling.max_unavailable.get_or_insert(IntOrString::Int(1));
        rolling.max_surge.get_or_insert(IntOrString::Int(0));
    }
    spec.revision_history_limit.get_or_insert(10);
}

/// Applies the defaults that differ in an OpenKruise DaemonSet: if only one of `maxUnavailable` and `maxSurge` is set,
/// the other is 0. Text without a number also counts as 0 and is not validated.
///
/// OpenKruise: `SetDefaultsDaemonSet`, apis/apps/defaults/v1alpha1.go; `validateRollingUpdateDaemonSet`,
/// pkg/webhook/daemonset/validating/daemonset_validation.go.
pub fn kruise_daemon_set<T>(spec: &mut DaemonSetSpec<T>, own: &KruiseSpec) {
    let surges = own.rolling_update().and_then(|rolling| rolling.rolling_update_type.as_deref())
        == Some("Surging");
    let strategy = spec.update_strategy.as_mut();
    let Some(rolling) = strategy.and_then(|strategy| strategy.rolling_update.as_mut()) else {
        return;
    };
    if surges {
        rolling.max_surge.get_or_insert(IntOrString::Int(1));
    }
    if rolling.max_surge.is_some() {
        rolling.max_unavailable.get_or_insert(IntOrString::Int(0));
    }
    for value in [&mut rolling.max_unavailable, &mut rolling.max_surge].into_iter().flatten() {
        if int_or_percent::number(value) == 0 {
            *value = IntOrString::Int(0);
        }
    }
}

/// Applies `SetDefaults_StatefulSet` except for `maxUnavailable`: every rule assumes its default.
pub fn stateful_set<T>(spec: &mut StatefulSetSpec<T>) {
    for claim in spec.volume_claim_templates.iter_mut().flatten() {
        let claim_spec = claim.spec.get_or_insert_default();
        // The field is a pointer in Go, so an empty string is a value, and an invalid one.
        claim_spec.volume_mode.get_or_insert_with(|| "Filesystem".to_owned());
        text(&mut claim.status.get_or_insert_default().phase, "Pending");
    }
    text(&mut spec.pod_management_policy, "OrderedReady");
    let strategy = spec.update_strategy.get_or_insert_default();
    if is_empty(strategy.type_.as_deref()) {
        text(&mut strategy.type_, "RollingUpdate");
        // Only here: the API server creates no block if the type is set explicitly.
        strategy.rolling_update.get_or_insert_default();
    }
    if let StatefulSetUpdateStrategy { type_: Some(kind), rolling_update: Some(rolling) } = strategy
        && kind == "RollingUpdate"
    {
        rolling.partition.get_or_insert(0);
    }
    let retention = spec.persistent_volume_claim_retention_policy.get_or_insert_default();
    text(&mut retention.when_deleted, "Retain");
    text(&mut retention.when_scaled, "Retain");
    spec.leaves_out_replicas |= spec.replicas.is_none();
    spec.replicas.get_or_insert(1);
    spec.revision_history_limit.get_or_insert(10);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemon(json: &str) -> DaemonSetSpec {
        let mut spec = serde_json::from_str(json).unwrap();
        daemon_set(&mut spec);
        spec
    }
    fn stateful(json: &str) -> StatefulSetSpec {
        let mut spec = serde_json::from_str(json).unwrap();
        stateful_set(&mut spec);
        spec
    }

    #[test]
    fn a_daemon_set_rolls_one_by_one() {
        for json in ["{}", r#"{"updateStrategy": {"type": "", "rollingUpdate": null}}"#] {
            let strategy = daemon(json).update_strategy.unwrap();
            let rolling = strategy.rolling_update.unwrap();
            assert_eq!(strategy.type_.as_deref(), Some("RollingUpdate"));
            assert_eq!(rolling.max_unavailable, Some(IntOrString::Int(1)));
            assert_eq!(rolling.max_surge, Some(IntOrString::Int(0)));
        }
        let on_delete = daemon(r#"{"updateStrategy": {"type": "OnDelete"}}"#);
        assert_eq!(on_delete.update_strategy.unwrap().rolling_update, None);
        assert_eq!(daemon("{}").revision_history_limit, Some(10));
        assert_eq!(daemon(r#"{"revisionHistoryLimit": 0}"#).revision_history_limit, Some(0));
    }

    #[test]
    fn a_stateful_set_gets_a_rolling_update_only_with_its_type() {
        let partition = |json: &str| {
            let strategy = stateful(json).update_strategy.unwrap();
            strategy.rolling_update.map(|rolling| rolling.partition)
        };
        assert_eq!(partition("{}"), Some(Some(0)));
        assert_eq!(partition(r#"{"updateStrategy": {"type": "RollingUpdate"}}"#), None);
        assert_eq!(
            partition(r#"{"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {}}}"#),
            Some(Some(0))
        );
        assert_eq!(
            partition(r#"{"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}}"#),
            Some(None)
        );
    }

    #[test]
    fn a_stateful_set_keeps_its_claims() {
        let spec =
            stateful(r#"{"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}"#);
        let retention = spec.persistent_volume_claim_retention_policy.unwrap();
        assert_eq!(retention.when_deleted.as_deref(), Some("Retain"));
        assert_eq!(retention.when_scaled.as_deref(), Some("Delete"));
        assert_eq!(
            (spec.replicas, spec.pod_management_policy.as_deref()),
            (Some(1), Some("OrderedReady"))
        );
        let claims = stateful(r#"{"volumeClaimTemplates": [{}]}"#).volume_claim_templates.unwrap();
        assert_eq!(claims[0].spec.as_ref().unwrap().volume_mode.as_deref(), Some("Filesystem"));
    }

    #[test]
    fn defaulting_twice_changes_nothing() {
        let json = r#"{"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}"#;
        let once = daemon(json);
        let mut twice = once.clone();
        daemon_set(&mut twice);
        assert_eq!(once, twice);
        let once = stateful(json);
        let mut twice = once.clone();
        stateful_set(&mut twice);
        assert_eq!(once, twice);
    }
}
