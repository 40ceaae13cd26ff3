//! Everything that is tested from outside, in one binary.

mod catalogue;
mod cli;
mod conformance;
#[cfg(feature = "server")]
mod daemon;
mod generated;
mod inject;
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
