//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod claim_metadata_invalid;
mod claim_name_duplicate;
mod grace_period_zero;
mod history_limit_zero;
mod name_too_long;
mod on_delete_change;
mod on_delete_ignores_rolling_update;
mod ordinal_overflow;
mod partition_covers_all;
mod read;
mod selector_on_managed_labels;
mod selector_too_broad;
mod surge_host_port;
mod template_finalizers;
mod template_hostname_ignored;
mod template_node_name;
mod template_scheduling_gates;
mod toleration_seconds_loop;
mod unschedulable_affinity;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &grace_period_zero::TRAP,
    &history_limit_zero::TRAP,
    &name_too_long::TRAP,
    &on_delete_change::TRAP,
    &on_delete_ignores_rolling_update::TRAP,
    &ordinal_overflow::TRAP,
    &partition_covers_all::TRAP,
    &selector_on_managed_labels::TRAP,
    &selector_too_broad::TRAP,
    &surge_host_port::TRAP,
    &template_finalizers::TRAP,
    &template_hostname_ignored::TRAP,
    &template_node_name::TRAP,
    &template_scheduling_gates::TRAP,
    &toleration_seconds_loop::TRAP,
    &unschedulable_affinity::TRAP,
];
