//! The programs that the tests drive; all of them end with the tests. The load benchmark includes
//! this module with `#[path]`, hence the name `mod.rs`: in any other file, Rust would look for the
//! submodules elsewhere.

#![allow(dead_code, reason = "the tests and the benchmark each use a part")]

pub(crate) mod control_plane;
pub(crate) mod example;
pub(crate) mod kubectl;
pub(crate) mod process;
pub(crate) mod sidecar;
pub(crate) mod webhook;
