//! The claim templates of a StatefulSet. Only the `spec` is validated here; names are validated as names of volumes.
//!
//! Kubernetes: `validateVolumeClaimTemplates`, `pkg/apis/apps/validation/validation.go`.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaimSpec, TypedLocalObjectReference, TypedObjectReference,
};

use crate::validation::prelude::*;

const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const ALONE: &str = "ReadWriteOncePod";

pub(crate) fn validate(claim: &PersistentVolumeClaim, cluster: &Cluster, path: &At<'_>) {
    let absent = PersistentVolumeClaimSpec::default();
    let spec = claim.spec.as_ref().unwrap_or(&absent);
    validate_spec(spec, cluster.enabled("VolumeAttributesClass"), path);
}

/// `ValidatePersistentVolumeClaimSpec` with the options for a new claim or claim template.
pub(crate) fn validate_spec(
    spec: &PersistentVolumeClaimSpec,
    attributes_class: bool,
    path: &At<'_>,
) {
    access_modes(spec, &path.child("accessModes"));
    if let Some(selector) = &spec.selector {
        selector::validate(selector, &|| false, &path.child("selector"));
    }
    storage(spec, &path.child("resources").key("storage"));
    class_name(spec.storage_class_name.as_deref(), &path.child("storageClassName"));
    let modes = &["Block", "Filesystem"];
    one_of(spec.volume_mode.as_deref(), modes, &path.child("volumeMode"));
    sources(spec, path);
    if attributes_class {
        let path = path.child("volumeAttributesClassName");
        class_name(spec.volume_attributes_class_name.as_deref(), &path);
    }
}

fn access_modes(spec: &PersistentVolumeClaimSpec, path: &At<'_>) {
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if modes.is_empty() {
        path.required("at least 1 access mode is required");
    }
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(&mode.as_str())) {
        path.not_supported(Value::json(mode), &ACCESS_MODES);
    }
    let others = |mode: &String| mode != ALONE && ACCESS_MODES.contains(&mode.as_str());
    if modes.iter().any(|mode| mode == ALONE) && modes.iter().any(others) {
        path.forbidden("may not use ReadWriteOncePod with other access modes");
    }
}

/// `ValidatePositiveQuantityValue`.
fn storage(spec: &PersistentVolumeClaimSpec, path: &At<'_>) {
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    match requests.and_then(|requests| requests.get("storage")) {
        None => path.required(""),
        Some(size) => {
            // The decoder has rejected a size that does not parse.
            let size = Quantity::parse_resource(&size.0);
            if let Some(size) = size.filter(|size| size.is_negative() || size.is_zero()) {
                path.invalid(&*size.to_text(), "must be greater than zero");
            }
        }
    }
}

fn class_name(name: Option<&str>, path: &At<'_>) {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        subdomain(name, path);
    }
}

/// `dataSource` and `dataSourceRef`, alone and together.
fn sources(spec: &PersistentVolumeClaimSpec, path: &At<'_>) {
    let source = spec.data_source.as_ref();
    let reference = spec.data_source_ref.as_ref();
    if let Some(TypedLocalObjectReference { api_group, kind, name }) = source {
        object(api_group.as_deref(), kind, name, &path.child("dataSource"));
    }
    let mut elsewhere = false;
    if let Some(TypedObjectReference { api_group, kind, name, namespace }) = reference {
        let path = path.child("dataSourceRef");
        object(api_group.as_deref(), kind, name, &path);
        if let Some(namespace) = namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
            elsewhere = true;
            label(namespace, &path.child("namespace"));
        }
    }
    // Upstream prints a field path here: as JSON, an empty object.
    let value = || Value::Json("{}".to_owned());
    let (Some(source), Some(reference)) = (source, reference) else { return };
    if elsewhere {
        path.invalid(value(), "may not be specified when dataSourceRef.namespace is specified");
    } else if (&source.api_group, &source.kind, &source.name)
        != (&reference.api_group, &reference.kind, &reference.name)
    {
        path.invalid(value(), "must match dataSourceRef");
    }
}

/// Follows `validateDataSource` and `validateDataSourceRef`.
fn object(api_group: Option<&str>, kind: &str, name: &str, path: &At<'_>) {
    required(name, &path.child("name"));
    required(kind, &path.child("kind"));
    match api_group.filter(|group| !group.is_empty()) {
        None if kind != "PersistentVolumeClaim" => {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            path.invalid(kind, detail);
        }
        None => {}
        Some(group) => subdomain(group, &path.child("apiGroup")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mode_that_does_not_exist_is_no_other_mode() {
        let requests = json!({"storage": "1Gi"});
        let modes = ["ReadWriteOncePod", "No"];
        let spec = json!({"accessModes": modes, "resources": {"requests": requests}});
        let claim = serde_json::from_value(json!({"spec": spec})).unwrap();
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        validate(&claim, &Cluster::default(), &found.at(&Path::new("spec")));
        assert_eq!(found.len(), 1);
    }
}
