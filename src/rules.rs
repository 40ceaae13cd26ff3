//! The rules, in families that do not import each other.

pub mod api_validation;
pub mod bounds;
mod command;
pub mod cross_object;
mod drains;
pub mod policy;
pub mod rule;
pub mod status;
pub mod traps;
mod waiting;
