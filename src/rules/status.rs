//! Rules about the status of DaemonSets and StatefulSets in a running cluster: why there is no pod,
//! and why a rollout does not go on.
//!
//! No two rules report one cause: what explains most is asked first, and the others leave it alone.

mod budget_eaten;
mod change_not_observed;
mod claim_left_behind;
mod claim_pending;
mod claim_size_differs;
mod claim_terminating;
pub(crate) mod claims;
mod class_of_claims_missing;
mod creation_refused;
mod daemon_set;
mod external_faults;
mod fewer_ready;
mod flapping;
mod foreign_text;
mod misscheduled;
mod nearest_nodes;
mod node_down;
mod node_not_wanted;
mod node_without_pod;
mod node_without_pod_since;
mod pdb_blocks_drain;
mod pdb_keeps_broken_pods;
mod phrases;
mod pod_events;
pub(crate) mod pod_name_taken;
mod pod_stuck_terminating;
mod quota;
mod refusal;
mod revision_left_behind;
mod revision_orphan;
mod rollout_budget_eaten;
mod rollout_stuck_at_ordinal;
mod scaling;
mod scheduler;
mod set_stuck_terminating;
mod stateful_set;
mod template_churn;
mod toleration;
mod two_pods_on_node;
mod volume_elsewhere;
mod volumes;
mod waiting_pod;
mod webhook_down;
mod webhooks;

use super::rule::Rule;

/// Every rule about status, in alphabetical order.
pub static RULES: &[&Rule] = &[
    &change_not_observed::RULE,
    &claim_left_behind::RULE,
    &claim_pending::RULE,
    &claim_size_differs::RULE,
    &claim_terminating::RULE,
    &class_of_claims_missing::RULE,
    &creation_refused::RULE,
    &fewer_ready::RULE,
    &misscheduled::RULE,
    &node_down::RULE,
    &node_not_wanted::RULE,
    &node_without_pod::RULE,
    &pdb_blocks_drain::RULE,
    &pdb_keeps_broken_pods::RULE,
    &pod_name_taken::RULE,
    &pod_stuck_terminating::RULE,
    &revision_left_behind::RULE,
    &revision_orphan::RULE,
    &rollout_budget_eaten::RULE,
    &rollout_stuck_at_ordinal::RULE,
    &set_stuck_terminating::RULE,
    &two_pods_on_node::RULE,
    &volume_elsewhere::RULE,
    &webhook_down::RULE,
];
