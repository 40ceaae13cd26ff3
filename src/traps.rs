//! What the API server accepts and that then does not work, or not as meant. One trap, one file.

use crate::rule::Trap;

/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[];
