//! The rule for metadata and the fields of the workload itself.

use crate::{
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
    rules::rule::{Rule, Runner, Scope},
};

/// The rule for metadata and the workload's own fields.
pub static RULE: Rule = Rule {
    meta: meta! {
        id: "api-validation",
        title: "the API server refuses this",
        summary: "what the API server refuses in metadata and the workload's own fields",
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
pub static API_VALIDATION: &Meta = &RULE.meta;
