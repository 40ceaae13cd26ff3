//! The StatefulSet's own fields.
//!
//! Kubernetes: `ValidateStatefulSetSpec` and its neighbours,
//! `pkg/apis/apps/validation/validation.go`; `pkg/registry/apps/statefulset/strategy.go`.

use k8s_openapi::api::{
    apps::v1::{
        RollingUpdateStatefulSetStrategy, StatefulSetPersistentVolumeClaimRetentionPolicy,
        StatefulSetUpdateStrategy,
    },
    core::v1::PodSpec,
};
use serde_json::json;

use super::{
    API_VALIDATION, POD_TEMPLATE_VALIDATION, at_least_0, claims, int_or_percent, kruise, names,
    pod_template, selector, template,
};
use crate::{
    cluster::{Cluster, since},
    field::Path,
    finding::{Finding, Findings, Value},
    subject::{Kind, Metadata, Object, StatefulSetSpec},
};

const IMMUTABLE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
     'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' \
     and 'minReadySeconds' are forbidden";

/// The old object of an UPDATE.
#[derive(Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) metadata: &'a Metadata<'a>,
    pub(super) spec: &'a StatefulSetSpec,
}

impl Old<'_> {
    /// Whether it is an object of a cluster, and not the previous state of a manifest: the server
    /// has judged it and dropped what it does not honour.
    const fn is_stored(&self) -> bool {
        self.metadata.uid.is_some()
    }
}

/// `ValidateStatefulSet` or `ValidateStatefulSetUpdate`, without the metadata. Returns what is
/// wrong with the pod template and let pass since the stored object has faults too.
pub(super) fn validate(
    object: &Object<'_>,
    spec: &StatefulSetSpec,
    old: Option<Old<'_>>,
    update: bool,
    cluster: &Cluster,
    found: &mut Findings,
) -> Vec<Finding> {
    let kruise = object.resource.is_kruise();
    let judge = Judge { cluster, update, old, kruise };
    judge.own_fields(spec, found);
    let before_template = found.len();
    judge.pod_template(spec, found);
    let mut tolerated = Vec::new();
    if found.len() > before_template
        && let Some(old) = old.filter(Old::is_stored)
        && judge.had_faults(old.spec)
    {
        tolerated = found.split_off(before_template);
    }
    if let Some(old) = old
        && !only_mutable_fields_differ(spec, old.spec, kruise)
    {
        let message = if kruise { kruise::IMMUTABLE } else { IMMUTABLE };
        found.forbidden(&Path::new("spec"), message);
    }
    tolerated
}

struct Judge<'a> {
    cluster: &'a Cluster,
    update: bool,
    old: Option<Old<'a>>,
    kruise: bool,
}

impl Judge<'_> {
    /// `ValidateStatefulSetSpec` without the spec of the pod template.
    fn own_fields(&self, spec: &StatefulSetSpec, found: &mut Findings) {
        let path = Path::new("spec");
        let policy = spec.pod_management_policy.as_deref().unwrap_or_default();
        if !["OrderedReady", "Parallel"].contains(&policy) {
            let detail = "must be 'OrderedReady' or 'Parallel'";
            found.invalid(&path.child("podManagementPolicy"), Value::json(&policy), detail);
        }
        if let Some(strategy) = &spec.update_strategy {
            self.update_strategy(strategy, &path.child("updateStrategy"), found);
        }
        if let Some(policy) = &spec.persistent_volume_claim_retention_policy {
            retention(policy, &path.child("persistentVolumeClaimRetentionPolicy"), found);
        }
        // Neither can change, so old faults in them are tolerated.
        if !self.update {
            if self.cluster.has(since::CLAIM_TEMPLATES_VALIDATED) {
                let path = path.child("volumeClaimTemplates");
                for (i, claim) in spec.volume_claim_templates.iter().flatten().enumerate() {
                    claims::validate(claim, self.cluster, &path.index(i).child("spec"), found);
                }
            }
            let service = spec.service_name.as_deref().filter(|name| !name.is_empty());
            for message in service.map(names::dns1123_label).unwrap_or_default() {
                found.invalid(&path.child("serviceName"), service.unwrap_or_default(), message);
            }
        }
        at_least_0(spec.replicas, &path.child("replicas"), found);
        at_least_0(spec.min_ready_seconds, &path.child("minReadySeconds"), found);
        let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start);
        at_least_0(start, &path.child("ordinals").child("start"), found);
        self.selector_and_template(spec, &path, found);
    }

    fn selector_and_template(&self, spec: &StatefulSetSpec, path: &Path<'_>, found: &mut Findings) {
        let selector = spec.selector.as_ref();
        let selector_path = path.child("selector");
        match selector {
            None => found.required(&selector_path, ""),
            Some(one) => {
                selector::validate(one, false, &selector_path, found);
                if selector::is_empty(one) {
                    let detail = "empty selector is invalid for statefulset";
                    found.invalid(&selector_path, selector::to_value(selector), detail);
                }
            }
        }
        let path = path.child("template");
        if selector.is_some_and(|one| !selector::parses(one)) {
            found.invalid(&selector_path, selector::to_value(selector), "");
        } else {
            if !selector.is_some_and(selector::is_empty) {
                template::matches(selector, &spec.template, &path, found);
            }
            let old = self.old.map(|old| &old.spec.template);
            template::metadata(&spec.template, old, &path, found);
        }
        template::restrictions(Kind::StatefulSet, &spec.template, &path, found);
    }

    /// `ValidatePodTemplateSpec` as far as an invalid old object switches it off.
    fn pod_template(&self, spec: &StatefulSetSpec, found: &mut Findings) {
        let selector_parses = spec.selector.as_ref().is_none_or(selector::parses);
        if !(selector_parses && self.cluster.has(since::STATEFUL_SET_TEMPLATE_VALIDATED)) {
            return;
        }
        let path = Path::new("spec");
        let path = path.child("template");
        template::no_ephemeral_containers(&spec.template, &path, found);
        let Some(pod) = &spec.template.spec else { return };
        let claims: Vec<&str> = spec
            .volume_claim_templates
            .iter()
            .flatten()
            .map(|claim| claim.metadata.name.as_deref().unwrap_or_default())
            .collect();
        let opts = pod_template::PodOptions {
            cluster: self.cluster,
            claims: &claims,
            old: self.old.and_then(|old| old.spec.template.spec.as_ref()),
        };
        // Its controller gives each pod its own: what the template says is not looked at.
        let named = pod.hostname.is_some() || pod.subdomain.is_some();
        let nameless = named.then(|| PodSpec { hostname: None, subdomain: None, ..pod.clone() });
        let pod = nameless.as_ref().unwrap_or(pod);
        let annotations = spec.template.metadata.as_ref().and_then(|m| m.annotations.as_ref());
        found.set_rule(POD_TEMPLATE_VALIDATION);
        pod_template::validate_pod_spec(pod, annotations, &path.child("spec"), &opts, found);
        found.set_rule(API_VALIDATION);
    }

    /// Whether the old object would be refused by the rules for an UPDATE; then the new pod
    /// template is not judged at all.
    fn had_faults(&self, old: &StatefulSetSpec) -> bool {
        let mut faults = Findings::of(API_VALIDATION);
        self.own_fields(old, &mut faults);
        self.pod_template(old, &mut faults);
        !faults.is_empty()
    }

    fn update_strategy(
        &self,
        strategy: &StatefulSetUpdateStrategy,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        match (strategy.type_.as_deref(), &strategy.rolling_update) {
            (Some("RollingUpdate" | "OnDelete"), None) => {}
            (Some("RollingUpdate"), Some(rolling)) => {
                self.rolling_update(rolling, &path.child("rollingUpdate"), found);
            }
            (Some("OnDelete"), Some(rolling)) => {
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                let value = Value::json(&self.in_go(rolling));
                found.invalid(&path.child("rollingUpdate"), value, detail);
            }
            (type_, rolling) => {
                let rolling = rolling.as_ref().map(|rolling| self.in_go(rolling));
                let value = Value::json(&json!({"Type": type_, "RollingUpdate": rolling}));
                found.invalid(path, value, "must be 'RollingUpdate' or 'OnDelete'");
            }
        }
    }

    /// `validateRollingUpdateStatefulSet`.
    fn rolling_update(
        &self,
        rolling: &RollingUpdateStatefulSetStrategy,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        at_least_0(rolling.partition, &path.child("partition"), found);
        let kept = self.keeps_max_unavailable();
        if let Some(value) = rolling.max_unavailable.as_ref().filter(|_| kept) {
            let path = path.child("maxUnavailable");
            int_or_percent::validate(value, &path, found);
            if int_or_percent::number(value) == 0 {
                found.invalid(&path, int_or_percent::to_value(value), "cannot be 0");
            }
            if !self.kruise {
                int_or_percent::not_more_than_100_percent(value, &path, found);
            }
        }
    }

    /// Whether `maxUnavailable` is there when it is judged: with its gate off it is dropped before,
    /// unless the old object has it (`dropStatefulSetDisabledFields`). An old object that was never
    /// stored, such as the previous state of a manifest, would have lost it too.
    fn keeps_max_unavailable(&self) -> bool {
        let in_use = |old: Old<'_>| {
            let strategy = old.spec.update_strategy.as_ref();
            let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
            old.is_stored() && rolling.is_some_and(|r| r.max_unavailable.is_some())
        };
        self.cluster.enabled("MaxUnavailableStatefulSet") || self.old.is_some_and(in_use)
    }

    /// As the API server prints it: its internal type has no JSON names.
    fn in_go(&self, rolling: &RollingUpdateStatefulSetStrategy) -> serde_json::Value {
        let max_unavailable =
            rolling.max_unavailable.as_ref().filter(|_| self.keeps_max_unavailable());
        json!({"Partition": rolling.partition.unwrap_or(0), "MaxUnavailable": max_unavailable})
    }
}

/// `ValidatePersistentVolumeClaimRetentionPolicy`.
fn retention(
    policy: &StatefulSetPersistentVolumeClaimRetentionPolicy,
    path: &Path<'_>,
    found: &mut Findings,
) {
    for (name, value) in
        [("whenDeleted", &policy.when_deleted), ("whenScaled", &policy.when_scaled)]
    {
        let value = value.as_deref().unwrap_or_default();
        if !["Retain", "Delete"].contains(&value) {
            found.not_supported(&path.child(name), Value::json(&value), &["Retain", "Delete"]);
        }
    }
}

/// The end of `ValidateStatefulSetUpdate`.
fn only_mutable_fields_differ(new: &StatefulSetSpec, old: &StatefulSetSpec, kruise: bool) -> bool {
    let absent = String::new();
    let (service, old_service) = (new.service_name.as_ref(), old.service_name.as_ref());
    selector::same(new.selector.as_ref(), old.selector.as_ref())
        && service.unwrap_or(&absent) == old_service.unwrap_or(&absent)
        && new.pod_management_policy == old.pod_management_policy
        && (kruise
            || claims::same(
                new.volume_claim_templates.as_deref().unwrap_or_default(),
                old.volume_claim_templates.as_deref().unwrap_or_default(),
            ))
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;
    use crate::{
        api_validation,
        subject::{Object, Resource, Subject},
    };

    fn object() -> Json {
        json!({
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "web", "uid": "1"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        })
    }
    fn with(pointer: &str, value: Json) -> Json {
        let mut object = object();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value;
        object
    }
    /// What is refused, and what is tolerated.
    fn judged(new: &Json, old: Option<&Json>, cluster: &Cluster) -> (Vec<String>, usize) {
        let resource = Resource::of("apps/v1", "StatefulSet").unwrap();
        let (new, old) = (new.to_string(), old.map(Json::to_string));
        let object = Object::parse(resource, &new).unwrap();
        let subject = match &old {
            None => Subject::create(object),
            Some(old) => Subject::update(object, old),
        };
        let mut found = Findings::default();
        let tolerated = api_validation::validate(&subject, cluster, &mut found);
        let fields = found.into_vec().iter().map(|finding| finding.field.to_string()).collect();
        (fields, tolerated.len())
    }
    fn release(version: &str) -> Cluster {
        Cluster::new(version.parse().unwrap(), std::collections::BTreeMap::new())
    }

    const NO_IMAGE: &str = "/spec/template/spec/containers/0/image";

    #[test]
    fn a_stored_fault_switches_off_the_rules_for_the_template() {
        let bad = with(NO_IMAGE, json!(""));
        let cluster = release("1.36");
        let refused = vec!["spec.template.spec.containers[0].image".to_owned()];
        assert_eq!(judged(&bad, Some(&object()), &cluster), (refused.clone(), 0));
        for old in [&bad, &with("/spec/minReadySeconds", json!(-1))] {
            assert_eq!(judged(&bad, Some(old), &cluster), (vec![], 1));
            let mut manifest = old.clone();
            manifest["metadata"]["uid"] = Json::Null;
            assert_eq!(judged(&bad, Some(&manifest), &cluster), (refused.clone(), 0));
        }
    }

    #[test]
    fn what_else_is_wrong_is_refused_although_the_stored_object_has_faults() {
        let old = with(NO_IMAGE, json!(""));
        let mut new = old.clone();
        new["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        new["spec"]["template"]["metadata"]["annotations"] = json!({"bad key": ""});
        new["spec"]["replicas"] = json!(-1);
        let (fields, tolerated) = judged(&new, Some(&old), &release("1.36"));
        let expected =
            ["spec.replicas", "spec.template.annotations", "spec.template.spec.restartPolicy"];
        assert_eq!((fields, tolerated), (expected.map(str::to_owned).to_vec(), 1));
    }

    #[test]
    fn older_releases_judged_less() {
        let claim = with("/spec/volumeClaimTemplates", json!([{"metadata": {"name": "data"}}]));
        for (object, faults) in [(with(NO_IMAGE, json!("")), 1), (claim, 2)] {
            assert_eq!(judged(&object, None, &release("1.33")).0.len(), 0, "{object}");
            assert_eq!(judged(&object, None, &release("1.34")).0.len(), faults, "{object}");
        }
    }

    #[test]
    fn max_unavailable_is_judged_where_it_is_not_dropped() {
        let strategy = json!({"rollingUpdate": {"maxUnavailable": 0}});
        let new = with("/spec/updateStrategy", strategy);
        let refused = vec!["spec.updateStrategy.rollingUpdate.maxUnavailable".to_owned()];
        let off = release("1.36");
        let mut on = off.clone();
        on.set_gate("MaxUnavailableStatefulSet", true);
        assert_eq!(judged(&new, None, &off).0, Vec::<String>::new());
        assert_eq!(judged(&new, Some(&object()), &off).0, Vec::<String>::new());
        assert_eq!(judged(&new, None, &on).0, refused);
        assert_eq!(judged(&new, Some(&new), &off).0, refused, "a stored one keeps it");
    }

    #[test]
    fn what_cannot_change() {
        for (pointer, value) in [
            ("/spec/serviceName", json!("other")),
            ("/spec/podManagementPolicy", json!("Parallel")),
            ("/spec/volumeClaimTemplates", json!([{"metadata": {"name": "data"}}])),
        ] {
            let fields = judged(&with(pointer, value), Some(&object()), &release("1.36")).0;
            assert_eq!(fields, ["spec"], "{pointer}");
        }
        for (pointer, value) in [
            ("/spec/serviceName", json!("")),
            ("/spec/podManagementPolicy", json!("OrderedReady")),
            ("/spec/volumeClaimTemplates", json!([])),
            ("/spec/revisionHistoryLimit", json!(-1)),
            ("/spec/ordinals", json!({"start": 5})),
        ] {
            let fields = judged(&with(pointer, value), Some(&object()), &release("1.36")).0;
            assert_eq!(fields, Vec::<String>::new(), "{pointer}");
        }
    }
}
