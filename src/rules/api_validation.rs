//! What kube-apiserver refuses, in its own words.
//!
//! Two rule ids: `api-validation` for metadata and the fields of the DaemonSet or StatefulSet
//! itself, `pod-template-validation` for the rest of `spec.template.spec`. Each function names the
//! upstream function it follows. Validation sees a defaulted object ([`defaults`]).

mod claims;
mod daemon_set;
mod kruise;
mod object_meta;
pub mod pod;
mod pod_template;
mod stateful_set;
mod template;

use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::{
    finding::{Finding, Findings, Meta, Mode, Path},
    kubernetes::cluster::Cluster,
    kubernetes::names,
    object::{Operation, Subject, Workload},
};

/// Id of the rule for metadata and the workload's own fields.
pub const API_VALIDATION: &str = "api-validation";
/// Id of the rule for the rest of the pod template.
pub const POD_TEMPLATE_VALIDATION: &str = "pod-template-validation";
/// Id of the rule for documents that do not decode.
pub const SCHEMA: &str = "schema";

/// What the three rules say of themselves.
pub static METAS: [Meta; 3] = [
    Meta {
        id: API_VALIDATION,
        summary: "what the API server refuses in metadata and the workload's own fields",
        why: include_str!("api_validation/meta/api_validation.why.md"),
        bad: include_str!("api_validation/meta/api_validation.bad.yaml"),
        good: include_str!("api_validation/meta/api_validation.good.yaml"),
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: false,
    },
    Meta {
        id: POD_TEMPLATE_VALIDATION,
        summary: "what the API server refuses in the spec of the pod template",
        why: include_str!("api_validation/meta/pod_template_validation.why.md"),
        bad: include_str!("api_validation/meta/pod_template_validation.bad.yaml"),
        good: include_str!("api_validation/meta/pod_template_validation.good.yaml"),
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    Meta {
        id: SCHEMA,
        summary: "a document that does not decode: wrong type, unknown field, duplicate key",
        why: include_str!("api_validation/meta/schema.why.md"),
        bad: include_str!("api_validation/meta/schema.bad.yaml"),
        good: include_str!("api_validation/meta/schema.good.yaml"),
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: false,
    },
];

/// Finds what the API server would refuse.
///
/// Returns what it would refuse too, had the old object not been invalid already: a StatefulSet
/// whose stored spec has faults can be given any pod template.
///
/// Kubernetes: `BeforeCreate` and `BeforeUpdate`, apiserver `pkg/registry/rest`, which call the
/// strategies in `pkg/registry/apps`. Upstream reports faults of metadata twice on UPDATE, here
/// they are reported once.
pub fn validate(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) -> Vec<Finding> {
    found.set_rule(API_VALIDATION);
    let object = &subject.object;
    let update = subject.operation == Operation::Update;
    let old = if update { subject.old() } else { None };
    // What it was is asked for only where something is found that it could ease.
    let old_template = &|| if update { subject.old_template() } else { None };
    if update {
        object_meta::validate_update(&object.metadata, old.map(|old| &old.metadata), found);
    } else {
        object_meta::validate_create(object.kind(), &object.metadata, found);
    }
    if let Some(own) = &object.kruise {
        kruise::validate(object, own, found);
    }
    match &object.workload {
        Workload::DaemonSet(spec) => {
            let old = old.and_then(|old| match &old.workload {
                Workload::DaemonSet(spec) => Some(daemon_set::Old { spec, template: old_template }),
                Workload::StatefulSet(_) => None,
            });
            daemon_set::validate(spec, old, cluster, found);
            Vec::new()
        }
        Workload::StatefulSet(spec) => {
            let old = old.and_then(|old| match &old.workload {
                Workload::DaemonSet(_) => None,
                Workload::StatefulSet(spec) => {
                    let metadata = &old.metadata;
                    Some(stateful_set::Old { metadata, spec, template: old_template })
                }
            });
            stateful_set::validate(object, spec, old, update, cluster, found)
        }
    }
}

/// The old pod template, which is read when it is asked for.
type OldTemplate<'a> = &'a dyn Fn() -> Option<&'a PodTemplateSpec>;

/// `ValidateNonnegativeField`.
fn at_least_0(value: Option<i32>, path: &Path<'_>, found: &mut Findings) {
    if let Some(value) = value.filter(|value| *value < 0) {
        found.invalid(path, value, names::NOT_NEGATIVE);
    }
}
