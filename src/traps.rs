//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod claim_metadata_invalid;
mod claim_name_duplicate;
mod claims_deleted_on_scale_down;
mod name_too_long;
mod ordered_rollout_stuck;
mod ordinal_overflow;
mod ordinals_renumbered;
mod partition_covers_all;
mod partition_is_an_index;
mod read;
mod surge_host_port;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &claims_deleted_on_scale_down::TRAP,
    &name_too_long::TRAP,
    &ordered_rollout_stuck::TRAP,
    &ordinal_overflow::TRAP,
    &ordinals_renumbered::TRAP,
    &partition_covers_all::TRAP,
    &partition_is_an_index::TRAP,
    &surge_host_port::TRAP,
];
