//! The commands of setguard that need no cluster.

pub mod browser;
pub mod check;
mod dump;
pub mod explain;
pub mod plan;
pub mod proposal;
mod sides;
