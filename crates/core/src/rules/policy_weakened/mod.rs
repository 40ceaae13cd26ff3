use crate::rules::prelude::*;

/// The rule that compares the policy file with the one at `--against-ref` or `--policy-from-ref`.
pub static RULE: Rule = rule! {
    id: "policy-weakened", group: Guard, adjustable: false;
    title: "this change weakens the policy",
    summary: "a change that weakens the policy that checks it",
    scopes: [Scope::Engine { kinds: &[Kind::Policy], by: &[Runner::Check] }],
};

/// The description of this rule.
pub static POLICY_WEAKENED: &Meta = &RULE.meta;
