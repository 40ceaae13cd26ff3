//! What kube-apiserver refuses, in its own words.
//!
//! Two rule ids: `api-validation` for metadata and the fields of the DaemonSet or StatefulSet
//! itself, `pod-template-validation` for the rest of `spec.template.spec`. Each function names the
//! upstream function it follows. Validation sees a defaulted object ([`defaults`]).

pub mod defaults;
pub mod names;
pub mod pod;
mod pod_template;

use crate::{
    cluster::Cluster,
    finding::Findings,
    rule::{Meta, Mode},
    subject::Subject,
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
        why: "",
        bad: "",
        good: "",
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: false,
    },
    Meta {
        id: POD_TEMPLATE_VALIDATION,
        summary: "what the API server refuses in the spec of the pod template",
        why: "",
        bad: "",
        good: "",
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    Meta {
        id: SCHEMA,
        summary: "a document that does not decode: wrong type, unknown field, duplicate key",
        why: "",
        bad: "",
        good: "",
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: false,
    },
];

/// Finds what the API server would refuse.
pub fn validate(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let _ = (subject, cluster);
    found.set_rule(API_VALIDATION);
}
