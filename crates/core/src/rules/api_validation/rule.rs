use crate::rules::prelude::*;

/// The rule for metadata and the workload's own fields.
pub static RULE: Rule = rule! {
    id: "api-validation", group: Refused, mode: Mode::Deny, adjustable: false;
    title: "the API server refuses this",
    summary: "what the API server refuses in metadata and the workload's own fields",
    scopes: [Scope::Engine { kinds: SETS, by: &[Runner::Check, Runner::Validate, Runner::Audit] }],
};

/// The description of this rule.
pub static API_VALIDATION: &Meta = &RULE.meta;
