use crate::rules::prelude::*;

/// The rule that reports tolerations that are injected into the template of a DaemonSet.
pub static RULE: Rule = rule! {
    id: "control-plane-injection", group: Guard, mode: Mode::Audit;
    title: "setguard adds control-plane tolerations",
    summary: "a DaemonSet that requests control-plane tolerations from setguard",
    scopes: [Scope::Engine { kinds: &[Kind::DaemonSet], by: &[Runner::Mutate] }],
};

/// The description of this rule.
pub static CONTROL_PLANE_INJECTION: &Meta = &RULE.meta;
