//! Programs that the tests drive, each ended with the tests. The load benchmark uses them too,
//! hence a `mod.rs`: by `#[path]` no other file finds its neighbours.

#![allow(dead_code, reason = "tests and benchmark each use a part")]

pub(crate) mod control_plane;
pub(crate) mod example;
pub(crate) mod kubectl;
pub(crate) mod process;
pub(crate) mod sidecar;
pub(crate) mod webhook;
