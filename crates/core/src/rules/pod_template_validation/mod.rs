//! Validates the spec of a pod template as the API server does.

use crate::{
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
    rules::rule::{Rule, Runner, Scope},
};

/// The rule for the rest of the pod template.
pub static RULE: Rule = Rule {
    meta: meta! {
        id: "pod-template-validation",
        title: "the API server refuses this template",
        summary: "what the API server refuses in the spec of the pod template",
        group: Refused,
        mode: Mode::Deny,
        adjustable: true,
    },
    scopes: &[Scope::Engine {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        by: &[Runner::Check, Runner::Validate, Runner::Audit],
    }],
    cel: None,
};

/// The description of this rule.
pub static POD_TEMPLATE_VALIDATION: &Meta = &RULE.meta;
