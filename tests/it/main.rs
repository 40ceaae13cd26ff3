//! Everything that is tested from outside, in one binary.

// What helps a test may panic, as the test itself may.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, unreachable_pub)]

mod catalogue;
mod cli;
mod conformance;
#[cfg(feature = "server")]
mod daemon;
mod generated;
mod inject;
mod mutations;
mod parity;
mod schema;
#[cfg(feature = "server")]
mod serve;
mod support;
#[cfg(feature = "server")]
mod tls;
#[cfg(feature = "server")]
mod wire;
mod yaml;
