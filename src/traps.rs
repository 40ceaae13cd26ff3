//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod claim_metadata_invalid;
mod claim_name_duplicate;
mod name_too_long;
mod ordinal_overflow;
mod partition_covers_all;
mod read;
mod selector_on_managed_labels;
mod selector_too_broad;
mod surge_host_port;
mod toleration_seconds_loop;
mod unschedulable_affinity;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &name_too_long::TRAP,
    &ordinal_overflow::TRAP,
    &partition_covers_all::TRAP,
    &selector_on_managed_labels::TRAP,
    &selector_too_broad::TRAP,
    &surge_host_port::TRAP,
    &toleration_seconds_loop::TRAP,
    &unschedulable_affinity::TRAP,
];
