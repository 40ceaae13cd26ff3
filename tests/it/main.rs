//! Everything that is tested from outside, in one binary.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking, speaks to whoever reads its output, and has no users"
)]
// What helps a test may panic, as the test itself may.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, unreachable_pub)]
// clippy.toml allows these in tests, but does not see that helpers of tests are part of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

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
mod together;
#[cfg(feature = "server")]
mod wire;
mod yaml;
