//! Code that several test programs and benchmarks of setguard share.

#![allow(
    clippy::expect_used,
    clippy::missing_errors_doc,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, prints for people to read, and has no users"
)]

pub mod background;
pub mod certificate;
pub mod client;
pub mod cluster;
pub mod corpus;
pub mod harness;
pub mod helm;
pub mod http;
pub mod lengthen;
pub mod link;
pub mod load;
pub mod manifests;
pub mod numbers;
pub mod pages;
pub mod plain;
pub mod prelude;
pub mod recorded;
pub mod reviews;
pub mod service;
pub mod traces;

/// The folder of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
