//! Measures commands without a server: `setguard check` on many files, `setguard audit` of a large cluster, and the
//! cost of a review and of `check` as the input grows. See benches/README.md.
//!
//! `cargo bench --bench check -- [manifests] [audit] [growth] [repository] [rules]`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, fails by panicking and prints figures"
)]

mod audit;
mod growth;
mod manifests;
mod repository;
mod rules;

use std::env;

use setguard_testing::{
    cluster::Cluster, harness, harness::process::Process, lengthen, numbers::Cost, reviews,
};

const SECTIONS: [(&str, fn()); 5] = [
    ("manifests", manifests::measure),
    ("audit", audit::measure),
    ("growth", growth::measure),
    ("repository", repository::measure),
    ("rules", rules::measure),
];

fn main() {
    // `cargo test --all-targets` runs benchmarks too, but without `--bench`.
    if !env::args().any(|arg| arg == "--bench") {
        return;
    }
    let wanted: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure();
        }
    }
}
