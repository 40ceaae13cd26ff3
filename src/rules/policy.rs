//! The rule that reports a policy file that has become weaker.

use crate::{
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
};

/// The kind that the rule checks: the policy file.
pub static KINDS: &[Kind] = &[Kind::Policy];

/// The rule that compares the policy file with the one at `--against-ref` or `--policy-from-ref`.
pub static POLICY_WEAKENED: Meta = Meta {
    id: "policy-weakened",
    summary: "a change that weakens the policy by which it is checked",
    why: "\
The policy is a file in the repository, so a pull request can change it together with the manifests: turn off
the rule that would have reported them, or add an exception. The check of that pull request then succeeds, and
a reviewer who trusts its result doesn't see why.

With --against-ref, setguard check compares the policy file with the one at that commit. It reports rules
whose mode became weaker, exceptions that are new, wider, or expire later, limits that are gone or wider,
controllers that are newly paired, tolerations that are newly injected, pods that are no longer pinned,
another release or feature gate, and files that are newly excluded. The finding is for a reviewer; it isn't a
fault. To let such a change take effect only after it is merged, check with the policy of the base branch:
--policy-from-ref. A policy can't change this rule, and no comment, annotation or baseline hides it.

A policy file outside of the repository isn't compared: the change doesn't contain it.",
    bad: include_str!("policy/examples/policy-weakened.bad.yaml"),
    good: include_str!("policy/examples/policy-weakened.good.yaml"),
    mode: Mode::Warn,
    adjustable: false,
};
