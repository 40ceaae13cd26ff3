//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

mod name_too_long;
mod partition_covers_all;
mod read;
mod surge_host_port;

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] =
    &[&name_too_long::TRAP, &partition_covers_all::TRAP, &surge_host_port::TRAP];
