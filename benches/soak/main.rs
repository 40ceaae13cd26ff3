//! Writes through two replicas of `setguard serve` behind a real API server for as long as you like, with a new fault
//! every half minute, and prints what went wrong. See benches/README.md.
//!
//! `KUBEBUILDER_ASSETS=… cargo bench --bench soak -- --minutes 60`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, fails by panicking and prints figures"
)]

mod faults;
mod replica;
mod site;
mod tally;
mod writers;

use clap::Parser;
use setguard_testing::{background, harness, link, manifests, numbers, service};

use crate::{faults::FAULTS, harness::control_plane::ASSETS, site::Site, tally::Tally};
use setguard_testing::prelude::*;

/// Seconds between two faults.
const EVERY: u64 = 30;

#[derive(Debug, Parser)]
struct Arguments {
    /// Length in minutes
    #[arg(long, default_value = "10")]
    minutes: u64,
    /// Writes per second
    #[arg(long, default_value = "26")]
    rate: u32,
    /// Set by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    // `cargo test --all-targets` runs benchmarks too, but without `--bench`.
    if !env::args().any(|arg| arg == "--bench") {
        return;
    }
    let arguments = Arguments::parse();
    let Some(assets) = env::var_os(ASSETS) else {
        println!("skipped: {ASSETS} does not name a folder with etcd and kube-apiserver");
        return;
    };
    let own = || PathBuf::from(env!("CARGO_BIN_EXE_setguard"));
    let program = env::var_os("SETGUARD").map_or_else(own, PathBuf::from);
    let mut site = Site::start(Path::new(&assets), &program);
    let tally = Arc::new(Tally::new());
    let writers = writers::start(&site, arguments.rate, &tally);

    println!("{}", tally::HEAD);
    let start = Instant::now();
    let turns = arguments.minutes * 60 / EVERY;
    for (turn, (name, run)) in (1..=turns).zip(FAULTS.iter().cycle()) {
        // The last turns without faults show that everything recovers.
        if turn + 2 <= turns {
            tally.begins(name);
            run(&mut site);
        } else {
            tally.begins("nothing");
        }
        let end = Duration::from_secs(turn * EVERY);
        thread::sleep(end.saturating_sub(start.elapsed()));
        println!("{}", tally.row(start.elapsed().as_secs_f64() / 60.0, &site));
    }
    let kept = writers.stop();
    let lost = writers::lost(&site, &kept);
    println!("\nobjects that the API server had confirmed: {}, lost: {}", kept.len(), lost.len());
    assert_eq!(lost, [""; 0], "lost objects");
    tally.assert_right();
}
