//! The commands of setguard that need no cluster.

pub mod browser;
pub mod check;
mod dump;
pub mod explain;
pub mod plan;
mod prelude;
pub mod proposal;
mod sides;
