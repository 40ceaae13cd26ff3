use crate::rules::prelude::*;

/// The rule against a node pin that cannot be met.
pub static RULE: Rule = rule! {
    id: "node-pin-conflict", group: Guard, mode: Mode::Deny, adjustable: false;
    title: "the pod is tied to two nodes",
    summary: "a pod created for one node whose own affinity ties it to another",
    scopes: [Scope::Engine { kinds: &[Kind::Pod], by: &[Runner::Mutate] }],
};

/// The description of this rule.
pub static NODE_PIN_CONFLICT: &Meta = &RULE.meta;
