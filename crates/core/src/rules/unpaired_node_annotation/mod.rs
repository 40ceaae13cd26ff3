use crate::rules::prelude::*;

/// The rule against the annotation from a user that is not a paired controller.
pub static RULE: Rule = rule! {
    id: "unpaired-node-annotation", group: Guard;
    title: "the user is not a paired controller",
    summary: "setguard.io/node on a pod from a user that is not a paired controller",
    scopes: [Scope::Engine { kinds: &[Kind::Pod], by: &[Runner::Mutate] }],
};

/// The description of this rule.
pub static UNPAIRED_NODE_ANNOTATION: &Meta = &RULE.meta;
