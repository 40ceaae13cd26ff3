use crate::rules::prelude::*;

/// The rule for the rest of the pod template.
pub static RULE: Rule = rule! {
    id: "pod-template-validation", group: Refused, mode: Mode::Deny;
    title: "the API server refuses this template",
    summary: "what the API server refuses in the spec of the pod template",
    scopes: [Scope::Engine { kinds: SETS, by: &[Runner::Check, Runner::Validate, Runner::Audit] }],
};

/// The description of this rule.
pub static POD_TEMPLATE_VALIDATION: &Meta = &RULE.meta;
