//! Manifests that do not decode.

use crate::{
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
    rules::rule::{Rule, Runner, Scope},
};

/// The rule for documents that do not decode.
pub static RULE: Rule = Rule {
    meta: meta! {
        id: "schema",
        title: "the document does not decode",
        summary: "a document that does not decode: wrong type, unknown field, duplicate key",
        group: Refused,
        mode: Mode::Deny,
        adjustable: false,
    },
    scopes: &[Scope::Engine {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        by: &[Runner::Check, Runner::Validate, Runner::Audit],
    }],
    cel: None,
};

/// The description of this rule.
pub static SCHEMA: &Meta = &RULE.meta;
