//! Generic ephemeral volumes, and the claim template inside them.
//!
//! Kubernetes: `validateEphemeralVolumeSource` and `ValidatePersistentVolumeClaimSpec` in
//! `pkg/apis/core/validation/validation.go`.

use k8s_openapi::{
    api::core::v1::{EphemeralVolumeSource, PersistentVolumeClaimSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{
    options::Options,
    quantity::Quantity,
    selectors::{label_selector, labels},
    util::{each, list, one_of, required, subdomain, text},
};
use crate::{
    api_validation::names,
    field::Path,
    finding::{Findings, Value},
};

/// The most that keys and values of annotations may have together.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// `validateEphemeralVolumeSource`.
pub(super) fn validate(
    source: &EphemeralVolumeSource,
    opts: &Options,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let path = path.child("volumeClaimTemplate");
    let Some(template) = &source.volume_claim_template else {
        found.required(&path, "");
        return;
    };
    if let Some(metadata) = &template.metadata {
        template_metadata(metadata, &path.child("metadata"), found);
    }
    claim_spec(&template.spec, opts.volume_attributes_class, &path.child("spec"), found);
}

/// `ValidateTemplateObjectMeta`: labels and annotations, nothing else.
fn template_metadata(metadata: &ObjectMeta, path: &Path<'_>, found: &mut Findings) {
    let at = path.child("annotations");
    let mut size = 0;
    for (key, value) in metadata.annotations.iter().flatten() {
        // Judged in lower case, printed as it is.
        each(names::label_key(&key.to_lowercase()), key, &at, found);
        size += key.len() + value.len();
    }
    if size > MAX_ANNOTATIONS {
        found.too_long(&at, MAX_ANNOTATIONS);
    }
    labels(metadata.labels.as_ref(), &path.child("labels"), found);
    let set = [
        ("name", !text(&metadata.name).is_empty()),
        ("generateName", !text(&metadata.generate_name).is_empty()),
        ("namespace", !text(&metadata.namespace).is_empty()),
        ("selfLink", !text(&metadata.self_link).is_empty()),
        ("uID", !text(&metadata.uid).is_empty()),
        ("resourceVersion", !text(&metadata.resource_version).is_empty()),
        ("generation", metadata.generation.unwrap_or(0) != 0),
        ("creationTimestamp", metadata.creation_timestamp.is_some()),
        ("deletionTimestamp", metadata.deletion_timestamp.is_some()),
        ("deletionGracePeriodSeconds", metadata.deletion_grace_period_seconds.is_some()),
        ("ownerReferences", metadata.owner_references.is_some()),
        ("finalizers", metadata.finalizers.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ];
    for (name, _) in set.iter().filter(|(_, set)| *set) {
        found.forbidden(&path.child(name), "cannot be set");
    }
}

/// `ValidatePersistentVolumeClaimSpec`.
pub(crate) fn claim_spec(
    spec: &PersistentVolumeClaimSpec,
    attributes_class: bool,
    path: &Path<'_>,
    found: &mut Findings,
) {
    access_modes(list(&spec.access_modes), spec, &path.child("accessModes"), path, found);
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let at = path.child("resources");
    let at = at.key("storage");
    match requests.and_then(|requests| requests.get("storage")) {
        None => found.required(&at, ""),
        Some(storage) => {
            let storage = Quantity::parse_resource(&storage.0);
            if let Some(storage) = storage.filter(|s| s.is_negative() || s.is_zero()) {
                found.invalid(&at, &*storage.to_text(), "must be greater than zero");
            }
        }
    }
    let class = text(&spec.storage_class_name);
    if !class.is_empty() {
        subdomain(class, &path.child("storageClassName"), found);
    }
    let modes = &["Block", "Filesystem"];
    one_of(spec.volume_mode.as_deref(), modes, &path.child("volumeMode"), found);
    data_sources(spec, path, found);
    let class = text(&spec.volume_attributes_class_name);
    if !class.is_empty() && attributes_class {
        subdomain(class, &path.child("volumeAttributesClassName"), found);
    }
}

fn access_modes(
    modes: &[String],
    spec: &PersistentVolumeClaimSpec,
    at: &Path<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    if modes.is_empty() {
        found.required(at, "at least 1 access mode is required");
    }
    label_selector(spec.selector.as_ref(), false, &path.child("selector"), found);
    for mode in modes {
        one_of(Some(mode), MODES, at, found);
    }
    let once_pod = |mode: &String| mode == "ReadWriteOncePod";
    let other = |mode: &String| !once_pod(mode) && MODES.contains(&mode.as_str());
    if modes.iter().any(once_pod) && modes.iter().any(other) {
        found.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

/// `validateDataSource`, `validateDataSourceRef`, and that they agree.
fn data_sources(spec: &PersistentVolumeClaimSpec, path: &Path<'_>, found: &mut Findings) {
    if let Some(source) = &spec.data_source {
        let path = path.child("dataSource");
        reference(&source.name, &source.kind, text(&source.api_group), &path, found);
    }
    let Some(source) = &spec.data_source_ref else { return };
    let at = path.child("dataSourceRef");
    reference(&source.name, &source.kind, text(&source.api_group), &at, found);
    let namespace = text(&source.namespace);
    if !namespace.is_empty() {
        each(names::dns1123_label(namespace), namespace, &at.child("namespace"), found);
    }
    let Some(local) = &spec.data_source else { return };
    // Upstream prints the path instead of a value, as an empty object.
    let value = || Value::Json("{}".to_owned());
    if !namespace.is_empty() {
        let why = "may not be specified when dataSourceRef.namespace is specified";
        found.invalid(path, value(), why);
    } else if local.api_group != source.api_group
        || local.kind != source.kind
        || local.name != source.name
    {
        found.invalid(path, value(), "must match dataSourceRef");
    }
}

fn reference(name: &str, kind: &str, group: &str, path: &Path<'_>, found: &mut Findings) {
    required(name, &path.child("name"), found);
    required(kind, &path.child("kind"), found);
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        found.invalid(path, kind, why);
    }
    if !group.is_empty() {
        each(names::dns1123_subdomain(group), group, &path.child("apiGroup"), found);
    }
}
