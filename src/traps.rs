//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod canary_ordinals;
mod claim_hides_volume;
mod claim_metadata_invalid;
mod claim_name_duplicate;
mod claim_unmounted;
mod claim_without_class;
mod claims_deleted_on_scale_down;
mod host_port_spread;
mod max_unavailable_everything;
mod max_unavailable_ignored;
mod max_unavailable_ordered;
mod name_too_long;
mod ordered_rollout_stuck;
mod ordinal_overflow;
mod ordinals_renumbered;
mod partition_covers_all;
mod partition_is_an_index;
mod partition_left_set;
mod read;
mod selector_on_managed_labels;
mod selector_too_broad;
mod self_anti_affinity;
mod service_name_empty;
mod shared_volume;
mod surge_host_port;
mod toleration_seconds_loop;
mod unschedulable_affinity;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &canary_ordinals::TRAP,
    &claim_hides_volume::TRAP,
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &claim_unmounted::TRAP,
    &claim_without_class::TRAP,
    &claims_deleted_on_scale_down::TRAP,
    &host_port_spread::TRAP,
    &max_unavailable_everything::TRAP,
    &max_unavailable_ignored::TRAP,
    &max_unavailable_ordered::TRAP,
    &name_too_long::TRAP,
    &ordered_rollout_stuck::TRAP,
    &ordinal_overflow::TRAP,
    &ordinals_renumbered::TRAP,
    &partition_covers_all::TRAP,
    &selector_on_managed_labels::TRAP,
    &selector_too_broad::TRAP,
    &partition_is_an_index::TRAP,
    &partition_left_set::TRAP,
    &self_anti_affinity::TRAP,
    &service_name_empty::TRAP,
    &shared_volume::TRAP,
    &surge_host_port::TRAP,
    &toleration_seconds_loop::TRAP,
    &unschedulable_affinity::TRAP,
];
