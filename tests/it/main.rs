//! Everything that is tested from outside, in one binary.

mod conformance;
mod inject;
mod schema;
mod yaml;
