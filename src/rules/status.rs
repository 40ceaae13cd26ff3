//! Rules about the status of DaemonSets and StatefulSets in a running cluster: why there is no pod,
//! and why a rollout does not go on.

pub mod rule;

use self::rule::Rule;

/// Every rule about status, in alphabetical order.
pub static RULES: &[&Rule] = &[];
