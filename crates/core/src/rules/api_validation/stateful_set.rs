//! The StatefulSet's own fields.
//!
//! Kubernetes: `pkg/apis/apps/validation/validation.go`; `pkg/registry/apps/statefulset/strategy.go`.

mod immutable;

use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetUpdateStrategy,
};

use super::{
    API_VALIDATION, kruise,
    template::{self, OldTemplate},
};
use crate::rules::prelude::*;
use crate::{
    kubernetes::{
        cluster::{STATEFUL_SET_RECREATE_STRATEGY, since},
        names, semantic,
    },
    object::{LazyJson, Metadata},
    rules::pod_template_validation::POD_TEMPLATE_VALIDATION,
    validation::{claims, pod::util::non_negative, pod_template},
};

pub(super) const IMMUTABLE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
     'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' \
     and 'minReadySeconds' are forbidden";

#[derive(Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) metadata: &'a Metadata<'a>,
    pub(super) spec: &'a StatefulSetSpec<LazyJson<'a>>,
    pub(super) template: OldTemplate<'a>,
}

impl Old<'_> {
    /// `false` for an earlier state of a manifest. The server has validated a stored object and dropped the fields that
    /// it does not support.
    fn is_stored(&self) -> bool {
        self.metadata.is_stored()
    }
}

/// `ValidateStatefulSet` or `ValidateStatefulSetUpdate`, without the metadata. Returns the errors in the pod template
/// that the API server tolerates because the stored object has errors.
pub(super) fn validate<'a>(
    subject: &Subject<'_>,
    spec: &StatefulSetSpec,
    old: Option<Old<'a>>,
    cluster: &'a Cluster,
    found: &mut Findings,
) -> Vec<Finding> {
    let kruise = subject.object.resource.is_kruise();
    let validator = Validator { cluster, update: subject.is_update, old, kruise };
    validator.own_fields(spec, &spec.template, found);
    let (before_template, count) = (found.checkpoint(), found.len());
    validator.pod_template(spec, &spec.template, found);
    let mut tolerated = Vec::new();
    if found.len() > count
        && let Some(old) = old.filter(Old::is_stored)
        && validator.old_is_invalid(old)
    {
        tolerated = found.rewind(before_template);
    }
    if let Some(old) = old
        && !only_mutable_fields_differ(spec, old.spec, kruise)
    {
        if kruise {
            found.at(&SPEC).forbidden(kruise::IMMUTABLE);
        } else if cluster.has(since::STATEFUL_SET_IMMUTABLE_FIELDS) {
            immutable::each_field(spec, old.spec, found);
        } else {
            found.at(&SPEC).forbidden(IMMUTABLE);
        }
    }
    tolerated
}

struct Validator<'a> {
    cluster: &'a Cluster,
    update: bool,
    old: Option<Old<'a>>,
    kruise: bool,
}

impl Validator<'_> {
    /// `ValidateStatefulSetSpec`, except for the pod spec.
    fn own_fields<T>(
        &self,
        spec: &StatefulSetSpec<T>,
        template: &PodTemplateSpec,
        found: &mut Findings,
    ) {
        let policy = spec.pod_management_policy.as_deref().unwrap_or_default();
        if !["OrderedReady", "Parallel"].contains(&policy) {
            let detail = "must be 'OrderedReady' or 'Parallel'";
            found.at(&SPEC.child("podManagementPolicy")).invalid(Value::json(&policy), detail);
        }
        if let Some(strategy) = &spec.update_strategy {
            self.update_strategy(strategy, &found.at(&UPDATE_STRATEGY));
        }
        if let Some(policy) = &spec.persistent_volume_claim_retention_policy {
            retention(policy, &found.at(&SPEC.child("persistentVolumeClaimRetentionPolicy")));
        }
        // Neither field can change, so errors in a stored object are tolerated.
        if !self.update {
            if self.cluster.has(since::CLAIM_TEMPLATES_VALIDATED) {
                for (i, claim) in spec.volume_claim_templates.iter().flatten().enumerate() {
                    claims::validate(
                        claim,
                        self.cluster,
                        &found.at(&CLAIM_TEMPLATES.index(i).child("spec")),
                    );
                }
            }
            let service = spec.service_name.as_deref().filter(|name| !name.is_empty());
            for message in service.map(names::dns1123_label).unwrap_or_default() {
                found.at(&SPEC.child("serviceName")).invalid(service.unwrap_or_default(), message);
            }
        }
        non_negative(spec.replicas, &found.at(&SPEC.child("replicas")));
        non_negative(spec.min_ready_seconds, &found.at(&SPEC.child("minReadySeconds")));
        let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start);
        non_negative(start, &found.at(&SPEC.child("ordinals").child("start")));
        self.selector_and_template(spec.selector.as_ref(), template, found);
    }

    fn selector_and_template(
        &self,
        selector: Option<&LabelSelector>,
        template: &PodTemplateSpec,
        found: &mut Findings,
    ) {
        match selector {
            None => found.at(&SELECTOR).required(""),
            Some(one) => {
                selector::validate(one, &|| false, &found.at(&SELECTOR));
                if selector::is_empty(one) {
                    let detail = "empty selector is invalid for statefulset";
                    found.at(&SELECTOR).invalid(selector::to_value(selector), detail);
                }
            }
        }
        if selector.is_some_and(|one| !selector::parses(one)) {
            found.at(&SELECTOR).invalid(selector::to_value(selector), "");
        } else {
            if !selector.is_some_and(selector::is_empty) {
                template::matches(selector, template, &found.at(&TEMPLATE));
            }
            template::metadata(template, &|| self.old_template(), &found.at(&TEMPLATE));
        }
        template::restrictions(WorkloadKind::StatefulSet, template, &found.at(&TEMPLATE));
    }

    fn old_template(&self) -> Option<&PodTemplateSpec> {
        (self.old?.template)()
    }

    /// Includes the part of `ValidatePodTemplateSpec` that an invalid old object disables.
    fn pod_template<T>(
        &self,
        spec: &StatefulSetSpec<T>,
        template: &PodTemplateSpec,
        found: &mut Findings,
    ) {
        let selector_parses = spec.selector.as_ref().is_none_or(selector::parses);
        if !(selector_parses && self.cluster.has(since::STATEFUL_SET_TEMPLATE_VALIDATED)) {
            return;
        }
        template::no_ephemeral_containers(template, &found.at(&TEMPLATE));
        let claims = spec.volume_claim_templates.as_deref().unwrap_or_default();
        let old = &|| self.old_template()?.spec.as_ref();
        found.set_rule(POD_TEMPLATE_VALIDATION);
        pod_template::validate_of_stateful_set(template, claims, self.cluster, old, found);
        found.set_rule(API_VALIDATION);
    }

    /// If the old object fails validation on UPDATE, the API server does not validate the new pod template at all.
    fn old_is_invalid(&self, old: Old<'_>) -> bool {
        let Some(template) = (old.template)() else { return false };
        let mut faults = Findings::of(API_VALIDATION);
        self.own_fields(old.spec, template, &mut faults);
        self.pod_template(old.spec, template, &mut faults);
        !faults.is_empty()
    }

    fn update_strategy(&self, strategy: &StatefulSetUpdateStrategy, path: &At<'_>) {
        match (strategy.type_.as_deref(), &strategy.rolling_update) {
            (Some("RollingUpdate" | "OnDelete"), None) => {}
            (Some("RollingUpdate"), Some(rolling)) => {
                self.rolling_update(rolling, &path.child("rollingUpdate"));
            }
            (Some("Recreate"), None) if self.may_recreate() => {}
            (Some("OnDelete"), Some(rolling)) => self.no_rolling_update(rolling, path),
            (Some("Recreate"), Some(rolling)) if self.may_recreate() => {
                self.no_rolling_update(rolling, path);
            }
            (type_, rolling) => {
                let rolling = rolling.as_ref().map(|rolling| self.as_internal_json(rolling));
                let value = Value::json(&json!({"Type": type_, "RollingUpdate": rolling}));
                let detail = if self.may_recreate() {
                    "must be 'RollingUpdate', 'OnDelete', or 'Recreate'"
                } else {
                    "must be 'RollingUpdate' or 'OnDelete'"
                };
                path.invalid(value, detail);
            }
        }
    }

    fn no_rolling_update(&self, rolling: &RollingUpdateStatefulSetStrategy, path: &At<'_>) {
        let value = Value::json(&self.as_internal_json(rolling));
        let detail = "only allowed for updateStrategy 'RollingUpdate'";
        path.child("rollingUpdate").invalid(value, detail);
    }

    /// `AllowStatefulSetRecreateStrategy` of `statefulSetStrategy`. A stored object keeps the strategy when the gate is
    /// switched off.
    fn may_recreate(&self) -> bool {
        let has_it = |old: Old<'_>| {
            let strategy = old.spec.update_strategy.as_ref();
            old.is_stored() && strategy.and_then(|it| it.type_.as_deref()) == Some("Recreate")
        };
        let is_known = self.cluster.has(since::STATEFUL_SET_RECREATE) && !self.kruise;
        is_known
            && (self.cluster.enabled(STATEFUL_SET_RECREATE_STRATEGY)
                || self.old.is_some_and(has_it))
    }

    /// `validateRollingUpdateStatefulSet`
    fn rolling_update(&self, rolling: &RollingUpdateStatefulSetStrategy, path: &At<'_>) {
        non_negative(rolling.partition, &path.child("partition"));
        let kept = |_: &&_| self.keeps_max_unavailable();
        if let Some(value) = rolling.max_unavailable.as_ref().filter(kept) {
            let path = path.child("maxUnavailable");
            int_or_percent::validate(value, &path);
            if int_or_percent::number(value) == 0 {
                path.invalid(int_or_percent::to_value(value), "cannot be 0");
            }
            if !self.kruise {
                int_or_percent::not_more_than_100_percent(value, &path);
            }
        }
    }

    /// If the gate is off, the server drops `maxUnavailable` before validation, unless the old object has it
    /// (`dropStatefulSetDisabledFields`). An old object that was never stored would have lost the field too.
    fn keeps_max_unavailable(&self) -> bool {
        let in_use = |old: Old<'_>| {
            let strategy = old.spec.update_strategy.as_ref();
            let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
            old.is_stored() && rolling.is_some_and(|r| r.max_unavailable.is_some())
        };
        self.cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) || self.old.is_some_and(in_use)
    }

    /// The API server's internal type has no JSON names.
    fn as_internal_json(&self, rolling: &RollingUpdateStatefulSetStrategy) -> serde_json::Value {
        let max_unavailable =
            rolling.max_unavailable.as_ref().filter(|_| self.keeps_max_unavailable());
        json!({"Partition": rolling.partition.unwrap_or(0), "MaxUnavailable": max_unavailable})
    }
}

/// `ValidatePersistentVolumeClaimRetentionPolicy`
fn retention(policy: &StatefulSetPersistentVolumeClaimRetentionPolicy, path: &At<'_>) {
    for (name, value) in
        [("whenDeleted", &policy.when_deleted), ("whenScaled", &policy.when_scaled)]
    {
        let value = value.as_deref().unwrap_or_default();
        if !["Retain", "Delete"].contains(&value) {
            path.child(name).not_supported(Value::json(&value), &["Retain", "Delete"]);
        }
    }
}

/// The last part of `ValidateStatefulSetUpdate`.
fn only_mutable_fields_differ<T>(
    new: &StatefulSetSpec,
    old: &StatefulSetSpec<T>,
    kruise: bool,
) -> bool {
    let (service, old_service) = (new.service_name.as_deref(), old.service_name.as_deref());
    semantic::equal(&new.selector, &old.selector)
        && service.unwrap_or_default() == old_service.unwrap_or_default()
        && new.pod_management_policy == old.pod_management_policy
        && (kruise || semantic::equal(&new.volume_claim_templates, &old.volume_claim_templates))
}

#[cfg(test)]
mod tests;
