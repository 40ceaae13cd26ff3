//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod claim_metadata_invalid;
mod claim_name_duplicate;
mod control_plane_not_tolerated;
mod grace_period_zero;
mod history_limit_zero;
mod legacy_master_toleration;
mod long_ready_seconds;
mod name_too_long;
mod no_readiness_probe;
mod on_delete_change;
mod on_delete_ignores_rolling_update;
mod ordinal_overflow;
mod partition_covers_all;
mod read;
mod rollout_blocked;
mod selector_on_managed_labels;
mod selector_too_broad;
mod spread_in_daemonset;
mod surge_host_port;
mod surge_shared_node_resource;
mod template_finalizers;
mod template_hostname_ignored;
mod template_node_name;
mod template_scheduling_gates;
mod tolerates_everything;
mod toleration_duplicate;
mod toleration_seconds_loop;
mod unschedulable_affinity;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &control_plane_not_tolerated::TRAP,
    &grace_period_zero::TRAP,
    &history_limit_zero::TRAP,
    &legacy_master_toleration::TRAP,
    &long_ready_seconds::TRAP,
    &name_too_long::TRAP,
    &no_readiness_probe::TRAP,
    &on_delete_change::TRAP,
    &on_delete_ignores_rolling_update::TRAP,
    &ordinal_overflow::TRAP,
    &partition_covers_all::TRAP,
    &rollout_blocked::TRAP,
    &selector_on_managed_labels::TRAP,
    &selector_too_broad::TRAP,
    &spread_in_daemonset::TRAP,
    &surge_host_port::TRAP,
    &surge_shared_node_resource::TRAP,
    &template_finalizers::TRAP,
    &template_hostname_ignored::TRAP,
    &template_node_name::TRAP,
    &template_scheduling_gates::TRAP,
    &tolerates_everything::TRAP,
    &toleration_duplicate::TRAP,
    &toleration_seconds_loop::TRAP,
    &unschedulable_affinity::TRAP,
];
