use crate::rules::prelude::*;

/// The rule about injected tolerations that stay. It is evaluated with the traps, in updates.
pub static RULE: Rule = rule! {
    id: "control-plane-tolerations-left", group: Guard;
    title: "tolerations that setguard added are left",
    summary: "tolerations that setguard added, in a DaemonSet that no longer requests them",
    scopes: [Scope::Engine { kinds: &[Kind::DaemonSet], by: &[Runner::Check, Runner::Validate] }],
};

/// The description of this rule.
pub static CONTROL_PLANE_TOLERATIONS_LEFT: &Meta = &RULE.meta;
