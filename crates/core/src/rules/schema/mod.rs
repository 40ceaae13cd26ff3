use crate::rules::prelude::*;

/// The rule for documents that do not decode.
pub static RULE: Rule = rule! {
    id: "schema", group: Refused, mode: Mode::Deny, adjustable: false;
    title: "the API server cannot decode this",
    summary: "a document that does not decode: wrong type, unknown field, duplicate key",
    scopes: [Scope::Engine { kinds: SETS, by: &[Runner::Check, Runner::Validate, Runner::Audit] }],
};

/// The description of this rule.
pub static SCHEMA: &Meta = &RULE.meta;
