//! Changes of immutable fields, each with its own error.
//!
//! Kubernetes: `ValidateStatefulSetUpdate`, `pkg/apis/apps/validation/validation.go`, since 1.37.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use serde_json::{Map, Value as Json};

use crate::rules::prelude::*;
use crate::{kubernetes::semantic, validation::object_meta::IMMUTABLE};

pub(super) fn each_field<T>(new: &StatefulSetSpec, old: &StatefulSetSpec<T>, found: &mut Findings) {
    if !semantic::equal(&new.selector, &old.selector) {
        found.at(&SELECTOR).invalid(selector::to_value(new.selector.as_ref()), IMMUTABLE);
    }
    if !semantic::equal(&new.volume_claim_templates, &old.volume_claim_templates) {
        let claims = new.volume_claim_templates.as_ref();
        let claims = claims.map(|claims| claims.iter().map(as_internal_json).collect::<Vec<_>>());
        found.at(&CLAIM_TEMPLATES).invalid(Value::json(&claims), IMMUTABLE);
    }
    let (service, old_service) = (new.service_name.as_deref(), old.service_name.as_deref());
    if service.unwrap_or_default() != old_service.unwrap_or_default() {
        found.at(&SPEC.child("serviceName")).invalid(service.unwrap_or_default(), IMMUTABLE);
    }
    if new.pod_management_policy != old.pod_management_policy {
        let policy = new.pod_management_policy.as_deref().unwrap_or_default();
        found.at(&SPEC.child("podManagementPolicy")).invalid(policy, IMMUTABLE);
    }
}

/// The API server's internal type has no JSON names, and its metadata is embedded.
fn as_internal_json(claim: &PersistentVolumeClaim) -> Json {
    let mut json = metadata(&claim.metadata);
    let status = claim.status.as_ref();
    json.insert("Spec".to_owned(), spec(&claim.spec.clone().unwrap_or_default()));
    let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    let status = json!({
        "Phase": phase,
        "AccessModes": status.and_then(|status| status.access_modes.as_ref()),
        "Capacity": status.and_then(|status| status.capacity.as_ref()),
        "Conditions": null,
        "AllocatedResources": null,
        "AllocatedResourceStatuses": null,
        "CurrentVolumeAttributesClassName": null,
        "ModifyVolumeStatus": null,
        "HealthStatus": null,
    });
    json.insert("Status".to_owned(), status);
    Json::Object(json)
}

/// In Go's order.
fn metadata(metadata: &ObjectMeta) -> Map<String, Json> {
    let json = semantic::to_json(metadata).unwrap_or_default();
    let order = [
        "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
        "annotations", "ownerReferences", "finalizers", "managedFields",
    ];
    let fields =
        order.iter().filter_map(|name| Some(((*name).to_owned(), json.get(name)?.clone())));
    fields.collect()
}

fn spec(spec: &PersistentVolumeClaimSpec) -> Json {
    let resources = spec.resources.clone().unwrap_or_default();
    json!({
        "AccessModes": spec.access_modes,
        "Selector": selector::to_json(spec.selector.as_ref()),
        "Resources": {"Limits": resources.limits, "Requests": resources.requests},
        "VolumeName": spec.volume_name.as_deref().unwrap_or_default(),
        "StorageClassName": spec.storage_class_name,
        "VolumeMode": spec.volume_mode,
        "DataSource": spec.data_source.as_ref().map(|source| json!({
            "APIGroup": source.api_group, "Kind": source.kind, "Name": source.name,
        })),
        "DataSourceRef": spec.data_source_ref.as_ref().map(|source| json!({
            "APIGroup": source.api_group, "Kind": source.kind, "Name": source.name,
            "Namespace": source.namespace,
        })),
        "VolumeAttributesClassName": spec.volume_attributes_class_name,
    })
}
