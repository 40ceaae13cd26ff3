//! A claim template with metadata that the API server refuses in a claim.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason, paths::CLAIM_TEMPLATES},
    kubernetes::{cluster::Cluster, names},
    object::{StatefulSetSpec, Subject},
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "claim-metadata-invalid",
        summary: "a claim template with metadata that the API server refuses in a claim",
        why: "\
The API server validates only the `spec` of a claim template. The controller copies the metadata into
each claim that it creates, and only then is it validated. With a malformed label, annotation or
finalizer, or with a resourceVersion, no claim can be created, and no pod is created before its
claims. The field cannot be changed later.

Seen on a 1.36 control plane: each of these was accepted, and the StatefulSet never got a pod: a label
and an annotation with the key `bad key!` (\"FailedCreate: Create Claim data-web-0 for Pod web-0 …
metadata.labels: Invalid value\"), a finalizer of that name, and `resourceVersion: \"5\"`
(\"resourceVersion should not be set on objects to be created\").

Kubernetes: `validateVolumeClaimTemplates`, pkg/apis/apps/validation/validation.go;
`getPersistentVolumeClaims`, pkg/controller/statefulset/stateful_set_utils.go.",
        bad: include_str!("examples/claim-metadata-invalid.bad.yaml"),
        good: include_str!("examples/claim-metadata-invalid.good.yaml"),
        mode: Mode::Deny,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Applies,
    check: Check::StatefulSet(check),
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    for (i, (_, claim)) in read::claims(spec).enumerate() {
        metadata(&claim.metadata, &CLAIM_TEMPLATES.index(i).child("metadata"), found);
    }
}

const KEY: &str = "\
    use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, and \
    optionally a domain and '/' in front";
const VALUE: &str = "\
    use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";

fn metadata(metadata: &ObjectMeta, path: &Path<'_>, found: &mut Findings) {
    let mut report = |path: &Path<'_>, what: String, help: &'static str| {
        let message = format!("no claim, and so no pod, can be created with {what}");
        found.report(path, Reason::Invalid, message, help);
    };
    let labels = path.child("labels");
    for (key, value) in metadata.labels.iter().flatten() {
        if !names::label_key(key).is_empty() {
            report(&labels.key(key), format!("the label key {key:?}"), KEY);
        } else if !names::is_label_value(value) {
            report(&labels.key(key), format!("the label value {value:?}"), VALUE);
        }
    }
    let annotations = path.child("annotations");
    for key in metadata.annotations.iter().flatten().map(|(key, _)| key) {
        // The same syntax as a label key, except that upper case is allowed everywhere.
        if !names::label_key(&key.to_lowercase()).is_empty() {
            report(&annotations.key(key), format!("the annotation key {key:?}"), KEY);
        }
    }
    let finalizers = path.child("finalizers");
    for (i, name) in metadata.finalizers.iter().flatten().enumerate() {
        if !names::label_key(name).is_empty() {
            report(&finalizers.index(i), format!("the finalizer {name:?}"), KEY);
        }
    }
    if metadata.resource_version.as_deref().is_some_and(|version| !version.is_empty()) {
        let path = path.child("resourceVersion");
        report(&path, "a resourceVersion".to_owned(), "leave it out: the API server sets it");
    }
}
