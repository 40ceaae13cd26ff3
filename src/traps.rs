//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod claim_metadata_invalid;
mod claim_name_duplicate;
mod name_too_long;
mod ordinal_overflow;
mod partition_covers_all;
mod read;
mod surge_host_port;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &name_too_long::TRAP,
    &ordinal_overflow::TRAP,
    &partition_covers_all::TRAP,
    &surge_host_port::TRAP,
];
