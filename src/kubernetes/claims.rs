//! Semantic equality of two lists of claim templates.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec},
    apimachinery::pkg::{api::resource, apis::meta::v1::ObjectMeta},
};

use super::{quantity::Quantity, selector};

/// Whether an UPDATE leaves the claim templates as they are.
///
/// Kubernetes: `apiequality.Semantic.DeepEqual` on the internal types, in
/// `ValidateStatefulSetUpdate`, `pkg/apis/apps/validation/validation.go`: absent and empty lists,
/// maps and strings are equal, and quantities are compared by value. A pointer to an empty string
/// is not nil: `storageClassName: ""` differs from an absent one.
pub(crate) fn same(one: &[PersistentVolumeClaim], other: &[PersistentVolumeClaim]) -> bool {
    one == other
        || one.len() == other.len()
            && one.iter().zip(other).all(|(a, b)| normal(a.clone()) == normal(b.clone()))
}

/// The normal form of a claim: claims with the same meaning have equal normal forms.
fn normal(mut claim: PersistentVolumeClaim) -> PersistentVolumeClaim {
    metadata(&mut claim.metadata);
    spec(claim.spec.get_or_insert_default());
    let status = claim.status.get_or_insert_default();
    drop_empty(&mut status.phase, String::is_empty);
    status.phase.get_or_insert_with(|| "Pending".to_owned());
    amounts(&mut status.capacity);
    amounts(&mut status.allocated_resources);
    drop_empty(&mut status.access_modes, Vec::is_empty);
    drop_empty(&mut status.conditions, Vec::is_empty);
    drop_empty(&mut status.allocated_resource_statuses, BTreeMap::is_empty);
    claim
}

fn metadata(metadata: &mut ObjectMeta) {
    for text in [
        &mut metadata.name,
        &mut metadata.generate_name,
        &mut metadata.namespace,
        &mut metadata.resource_version,
        &mut metadata.self_link,
        &mut metadata.uid,
    ] {
        drop_empty(text, String::is_empty);
    }
    drop_empty(&mut metadata.labels, BTreeMap::is_empty);
    drop_empty(&mut metadata.annotations, BTreeMap::is_empty);
    drop_empty(&mut metadata.finalizers, Vec::is_empty);
    drop_empty(&mut metadata.owner_references, Vec::is_empty);
    drop_empty(&mut metadata.managed_fields, Vec::is_empty);
    drop_empty(&mut metadata.generation, |generation| *generation == 0);
}

fn spec(spec: &mut PersistentVolumeClaimSpec) {
    drop_empty(&mut spec.access_modes, Vec::is_empty);
    drop_empty(&mut spec.volume_name, String::is_empty);
    let resources = spec.resources.get_or_insert_default();
    amounts(&mut resources.requests);
    amounts(&mut resources.limits);
    if let Some(selector) = &mut spec.selector {
        *selector = selector::normal(selector);
    }
}

fn amounts(list: &mut Option<BTreeMap<String, resource::Quantity>>) {
    for amount in list.iter_mut().flat_map(BTreeMap::values_mut) {
        if let Some(parsed) = Quantity::parse_resource(&amount.0) {
            amount.0 = parsed.comparison_key();
        }
    }
    drop_empty(list, BTreeMap::is_empty);
}

fn drop_empty<T>(value: &mut Option<T>, empty: impl FnOnce(&T) -> bool) {
    if value.as_ref().is_some_and(empty) {
        *value = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn equal(one: &Value, other: &Value) -> bool {
        let read = |json: &Value| vec![serde_json::from_value(json.clone()).unwrap()];
        let (one, other) = (read(one), read(other));
        let forth = same(&one, &other);
        assert_eq!(forth, same(&other, &one), "it is symmetric");
        forth
    }
    fn claim(spec: &Value) -> Value {
        json!({"metadata": {"name": "data"}, "spec": spec})
    }

    #[test]
    fn what_means_the_same() {
        let base = claim(&json!({"resources": {"requests": {"storage": "1Gi"}}}));
        let same = [
            claim(&json!({"resources": {"requests": {"storage": "1024Mi"}}})),
            claim(&json!({"resources": {"requests": {"storage": "1Gi"}, "limits": {}}})),
            claim(&json!({"accessModes": [], "volumeName": "",
                          "resources": {"requests": {"storage": "1Gi"}}})),
            json!({"metadata": {"name": "data"}, "status": {"phase": ""},
                   "spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                   "metadata": {"name": "data", "labels": {}, "creationTimestamp": null},
                   "spec": {"resources": {"requests": {"storage": "1Gi"}}},
                   "status": {"phase": "Pending"}}),
        ];
        for other in same {
            assert!(equal(&base, &other), "{other}");
        }
    }

    #[test]
    fn what_does_not() {
        let base = claim(&json!({"resources": {"requests": {"storage": "1Gi"}}}));
        let different = [
            claim(&json!({"resources": {"requests": {"storage": "2Gi"}}})),
            claim(&json!({"storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}})),
            claim(&json!({"selector": {}, "resources": {"requests": {"storage": "1Gi"}}})),
            json!({"metadata": {"name": "other"},
                   "spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
            json!({"metadata": {"name": "data", "labels": {"a": "b"}},
                   "spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
        ];
        for other in different {
            assert!(!equal(&base, &other), "{other}");
        }
        assert!(!same(&[], &[PersistentVolumeClaim::default()]));
    }
}
