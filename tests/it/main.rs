//! Everything that is tested from outside, in one binary.

mod catalogue;
mod generated;
mod inject;
mod parity;
mod schema;
mod support;
mod yaml;
