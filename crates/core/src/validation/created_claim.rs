//! Faults in a claim template that the API server accepts there, but not in the claims made from it.
//!
//! The StatefulSet controller sets a claim's name and namespace and adds the labels of the selector
//! (`getPersistentVolumeClaims`, `pkg/controller/statefulset/stateful_set_utils.go`). Only then is the metadata
//! validated (`ValidatePersistentVolumeClaim`). The API server itself sets `uid`, `creationTimestamp` and
//! `deletionTimestamp`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{claims, object_meta};
use crate::validation::prelude::*;

/// The API server's text follows.
const REFUSED: &str = "no claim, and so no pod, can be created: ";
const KEY: &str = "use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, and \
     optionally a domain and '/' in front";
const VALUE: &str =
    "use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";
const LEAVE_OUT: &str = "leave it out of the claim template";

pub(crate) fn validate(
    set: &StatefulSetSpec,
    claim: &PersistentVolumeClaim,
    cluster: &Cluster,
    path: &Path<'_>,
    found: &mut Findings,
) {
    metadata(set, &claim.metadata, &path.child("metadata"), found);
    if !cluster.has(since::CLAIM_TEMPLATES_VALIDATED) {
        let help = "before 1.34 the API server accepts this in a StatefulSet, but never in a claim";
        found.quote(REFUSED, help, |found| {
            claims::validate(claim, cluster, &found.at(&path.child("spec")));
        });
    }
}

/// Follows `ValidateObjectMeta`, with one finding per fault.
fn metadata(set: &StatefulSetSpec, metadata: &ObjectMeta, path: &Path<'_>, found: &mut Findings) {
    found.quote(REFUSED, LEAVE_OUT, |found| {
        let path = found.at(path);
        let prefix = text(&metadata.generate_name);
        let name = object_meta::without_trailing_dash(prefix);
        let faults = (!prefix.is_empty()).then(|| names::dns1123_subdomain(&name));
        if let Some(fault) = faults.into_iter().flatten().next() {
            path.child("generateName").invalid(prefix, fault);
        }
        if let Some(generation) = metadata.generation.filter(|generation| *generation < 0) {
            path.child("generation").invalid(generation, names::NOT_NEGATIVE);
        }
        if is_version(text(&metadata.resource_version)) {
            let detail = "resourceVersion should not be set on objects to be created";
            path.child("resourceVersion").forbidden(detail);
        }
    });
    key_values(set, metadata, path, found);
    let owners = list(&metadata.owner_references);
    found.quote(REFUSED, "leave owners out of the claim template", |found| {
        object_meta::each_owner(owners, &found.at(&path.child("ownerReferences")));
    });
    let help = "use 'kubernetes', 'orphan', 'foregroundDeletion' or a name with a domain in front";
    found.quote(REFUSED, help, |found| {
        let path = path.child("finalizers");
        object_meta::each_finalizer(list(&metadata.finalizers), &found.at(&path));
    });
    if let Some(entries) = &metadata.managed_fields {
        found.quote(REFUSED, LEAVE_OUT, |found| {
            let json = serde_json::to_string(entries).unwrap_or_default();
            object_meta::managed_fields(&json, &found.at(&path.child("managedFields")));
        });
    }
}

fn key_values(set: &StatefulSetSpec, metadata: &ObjectMeta, path: &Path<'_>, found: &mut Findings) {
    // The selector's labels replace the template's.
    let selected = set.selector.as_ref().and_then(|selector| selector.match_labels.as_ref());
    let is_own = |key: &str| selected.is_none_or(|selected| !selected.contains_key(key));
    let at = path.child("labels");
    for (key, value) in metadata.labels.iter().flatten().filter(|(key, _)| is_own(key)) {
        if let Some(fault) = names::label_key(key).into_iter().next() {
            found.quote(REFUSED, KEY, |found| found.at(&at.key(key)).invalid(key, fault));
        } else if let Some(fault) = names::label_value(value).into_iter().next() {
            found.quote(REFUSED, VALUE, |found| found.at(&at.key(key)).invalid(value, fault));
        }
    }
    let at = path.child("annotations");
    let mut size = 0;
    for (key, value) in metadata.annotations.iter().flatten() {
        size += key.len() + value.len();
        // Annotation keys follow the rule for label keys, in either case.
        if let Some(fault) = names::label_key(&names::lower_case(key)).into_iter().next() {
            found.quote(REFUSED, KEY, |found| found.at(&at.key(key)).invalid(key, fault));
        }
    }
    if size > labels::ANNOTATIONS_LIMIT {
        let help = "shorten the annotations";
        found.quote(REFUSED, help, |found| found.at(&at).too_long(labels::ANNOTATIONS_LIMIT));
    }
}

/// Whether the store takes the text for the version of an existing object (`ObjectResourceVersion`, apiserver
/// pkg/storage/api_object_versioner.go). It ignores text that isn't a number.
fn is_version(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse().is_ok_and(|it: u64| it != 0)
}
