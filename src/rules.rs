//! The rules, in families that do not know of each other.

pub mod api_validation;
pub mod cross_object;
pub mod trap;
pub mod traps;
