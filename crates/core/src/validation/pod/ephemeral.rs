use k8s_openapi::{
    api::core::v1::EphemeralVolumeSource, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::validation::claims;
use crate::validation::prelude::*;

/// Follows `validateEphemeralVolumeSource`.
pub(crate) fn validate(source: &EphemeralVolumeSource, opts: &Options, path: &At<'_>) {
    let path = path.child("volumeClaimTemplate");
    let Some(template) = &source.volume_claim_template else {
        path.required("");
        return;
    };
    if let Some(metadata) = &template.metadata {
        template_metadata(metadata, &path.child("metadata"));
    }
    claims::validate_spec(&template.spec, opts.volume_attributes_class, &path.child("spec"));
}

/// Follows `ValidateTemplateObjectMeta`: only labels and annotations are allowed.
fn template_metadata(metadata: &ObjectMeta, path: &At<'_>) {
    let annotations = metadata.annotations.as_ref();
    labels::annotations(annotations, &path.child("annotations"));
    labels::labels(metadata.labels.as_ref(), &path.child("labels"));
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
    path.forbid(&set, "cannot be set");
}
