//! The rules, in families that do not import each other.

pub mod api_validation;
mod command;
pub mod cross_object;
mod pdb_blocks_drain;
pub mod policy;
mod rollout_waits;
pub mod rule;
pub mod status;
pub mod too_large;
pub mod traps;
