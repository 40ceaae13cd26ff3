//! The DaemonSet's own fields.
//!
//! Kubernetes: `pkg/apis/apps/validation/validation.go`; `pkg/registry/apps/daemonset/strategy.go`.

use k8s_openapi::api::apps::v1::{DaemonSetUpdateStrategy, RollingUpdateDaemonSet};

use super::{
    API_VALIDATION,
    template::{self, OldTemplate},
};
use crate::rules::prelude::*;
use crate::{
    kubernetes::semantic,
    object::LazyJson,
    rules::pod_template_validation::POD_TEMPLATE_VALIDATION,
    validation::{
        object_meta,
        pod::{affinity, util::non_negative},
        pod_template,
    },
};

/// `ValidateDaemonSetSpec`, and on UPDATE `ValidateDaemonSetSpecUpdate`. Both validate the whole spec, whatever the old
/// one was.
pub(super) fn validate(
    spec: &DaemonSetSpec,
    old: Option<&DaemonSetSpec<LazyJson<'_>>>,
    old_template: OldTemplate<'_>,
    cluster: &Cluster,
    found: &mut Findings,
) {
    let selector = spec.selector.as_ref();
    if let Some(old) = old
        && !semantic::equal(&spec.selector, &old.selector)
    {
        let value = selector::to_value(selector);
        found.at(&SELECTOR).invalid(value, object_meta::IMMUTABLE);
    }
    if let Some(selector) = selector {
        selector::validate(selector, &|| any_value(old, old_template), &found.at(&SELECTOR));
    }
    if selector.is_none_or(selector::parses) {
        template::matches(selector, &spec.template, &found.at(&TEMPLATE));
    }
    if selector.is_some_and(selector::is_empty) {
        let value = selector::to_value(selector);
        found.at(&SELECTOR).invalid(value, "empty selector is invalid for daemonset");
    }

    let old_template = || old_template().filter(|_| old.is_some());
    template::metadata(&spec.template, &old_template, &found.at(&TEMPLATE));
    if let Some(pod) = &spec.template.spec {
        let annotations = spec.template.metadata.as_ref().and_then(|m| m.annotations.as_ref());
        let old = &|| old_template()?.spec.as_ref();
        found.set_rule(POD_TEMPLATE_VALIDATION);
        let inputs = pod_template::PodInputs { annotations, cluster, claims: &[], old };
        pod_template::validate_pod_spec(pod, &inputs, &POD_SPEC, found);
        found.set_rule(API_VALIDATION);
    }
    template::no_ephemeral_containers(&spec.template, &found.at(&TEMPLATE));
    template::restrictions(WorkloadKind::DaemonSet, &spec.template, &found.at(&TEMPLATE));

    non_negative(spec.min_ready_seconds, &found.at(&SPEC.child("minReadySeconds")));
    if let Some(strategy) = &spec.update_strategy {
        update_strategy(strategy, &found.at(&UPDATE_STRATEGY));
    }
    non_negative(spec.revision_history_limit, &found.at(&SPEC.child("revisionHistoryLimit")));
}

/// Expressions may contain invalid label values if the old object has one in its selector, or an invalid selector in a
/// pod affinity term.
///
/// Kubernetes: `ValidateUpdate` in the strategy, and `hasInvalidLabelValueInAffinitySelector`, `pkg/api/pod/util.go`.
fn any_value(old: Option<&DaemonSetSpec<LazyJson<'_>>>, template: OldTemplate<'_>) -> bool {
    old.is_some_and(|old| {
        let pod = || template()?.spec.as_ref();
        old.selector.as_ref().is_some_and(selector::has_invalid_value)
            || pod().is_some_and(affinity::has_invalid_selector)
    })
}

/// `ValidateDaemonSetUpdateStrategy`. With `OnDelete`, only the type is validated.
fn update_strategy(strategy: &DaemonSetUpdateStrategy, path: &At<'_>) {
    match (strategy.type_.as_deref(), &strategy.rolling_update) {
        (Some("OnDelete"), _) => {}
        (Some("RollingUpdate"), Some(rolling)) => {
            rolling_update(rolling, &path.child("rollingUpdate"));
        }
        // Never after defaulting, because that sets `rollingUpdate`.
        (Some("RollingUpdate"), None) => path.child("rollingUpdate").required(""),
        _ => path.not_supported(as_internal_json(strategy), &["RollingUpdate", "OnDelete"]),
    }
}

/// `ValidateRollingUpdateDaemonSet`
fn rolling_update(rolling: &RollingUpdateDaemonSet, path: &At<'_>) {
    const ZERO: IntOrString = IntOrString::Int(0);
    let unavailable = rolling.max_unavailable.as_ref().unwrap_or(&ZERO);
    let surge = rolling.max_surge.as_ref().unwrap_or(&ZERO);
    let unavailable_path = path.child("maxUnavailable");
    let surge_path = path.child("maxSurge");
    int_or_percent::validate(unavailable, &unavailable_path);
    int_or_percent::validate(surge, &surge_path);
    int_or_percent::not_more_than_100_percent(unavailable, &unavailable_path);
    int_or_percent::not_more_than_100_percent(surge, &surge_path);
    match (int_or_percent::number(unavailable) != 0, int_or_percent::number(surge) != 0) {
        (true, true) => {
            let detail = "may not be set when maxUnavailable is non-zero";
            surge_path.invalid(int_or_percent::to_value(surge), detail);
        }
        (false, false) => unavailable_path.required("cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

/// The API server's internal type has no JSON names.
fn as_internal_json(strategy: &DaemonSetUpdateStrategy) -> Value<'static> {
    let rolling = strategy.rolling_update.as_ref().map(|rolling| {
        let or_zero = |value: &Option<IntOrString>| value.clone().unwrap_or(IntOrString::Int(0));
        json!({
            "MaxUnavailable": or_zero(&rolling.max_unavailable),
            "MaxSurge": or_zero(&rolling.max_surge),
        })
    });
    Value::json(&json!({"Type": strategy.type_, "RollingUpdate": rolling}))
}
