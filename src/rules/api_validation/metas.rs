//! What the rules of this family say of themselves.

use crate::finding::{Meta, Mode};

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
        why: include_str!("meta/api_validation.why.md"),
        bad: include_str!("meta/api_validation.bad.yaml"),
        good: include_str!("meta/api_validation.good.yaml"),
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: false,
    },
    Meta {
        id: POD_TEMPLATE_VALIDATION,
        summary: "what the API server refuses in the spec of the pod template",
        why: include_str!("meta/pod_template_validation.why.md"),
        bad: include_str!("meta/pod_template_validation.bad.yaml"),
        good: include_str!("meta/pod_template_validation.good.yaml"),
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    Meta {
        id: SCHEMA,
        summary: "a document that does not decode: wrong type, unknown field, duplicate key",
        why: include_str!("meta/schema.why.md"),
        bad: include_str!("meta/schema.bad.yaml"),
        good: include_str!("meta/schema.good.yaml"),
        mode: Mode::Deny,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: false,
    },
];
