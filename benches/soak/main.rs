//! Writes through two replicas of `setguard serve` behind a real API server for as long as you like,
//! while something breaks every half minute, and prints what went wrong. See benches/README.md.
//!
//! `KUBEBUILDER_ASSETS=… cargo bench --bench soak -- --minutes 60`

#![allow(
    clippy::disallowed_methods,
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

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use setguard_testing::{client, harness, http, link, manifests, numbers, service};

use crate::{
    faults::{FAULTS, Fault},
    harness::control_plane::ASSETS,
    site::Site,
    tally::Tally,
    writers::Writers,
};

#[derive(Debug, Parser)]
struct Arguments {
    /// Length in minutes
    #[arg(long, default_value = "10")]
    minutes: u64,
    /// Seconds between two faults
    #[arg(long, default_value = "30")]
    every: u64,
    /// Writes per second
    #[arg(long, default_value = "26")]
    rate: u32,
    /// Words in the names of faults; all faults by default
    words: Vec<String>,
    /// The program to test, instead of the one that was built
    #[arg(long, default_value = env!("CARGO_BIN_EXE_setguard"))]
    program: PathBuf,
    /// Set by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    // `cargo test --all-targets` runs benchmarks too, without `--bench`.
    if !env::args().any(|arg| arg == "--bench") {
        return;
    }
    let arguments = Arguments::parse();
    let Some(assets) = env::var_os(ASSETS) else {
        println!("skipped: {ASSETS} does not name a folder with etcd and kube-apiserver");
        return;
    };
    let mut site = Site::start(Path::new(&assets), &arguments.program);
    let tally = Arc::new(Tally::new());
    let writers = Writers::start(&site, arguments.rate, &tally);
    let wanted = |fault: &&'static Fault| {
        arguments.words.is_empty() || arguments.words.iter().any(|it| fault.name.contains(&**it))
    };
    let faults: Vec<&'static Fault> = FAULTS.iter().filter(wanted).collect();

    println!("{}", tally::HEAD);
    let start = Instant::now();
    let (mut next_fault, mut next_minute) = (arguments.every, 1);
    let mut turn = faults.iter().cycle();
    while next_minute <= arguments.minutes {
        let until = next_fault.min(next_minute * 60);
        thread::sleep(Duration::from_secs(until).saturating_sub(start.elapsed()));
        if until == next_fault {
            next_fault += arguments.every;
            // The last minute shows that everything has recovered.
            if next_minute < arguments.minutes
                && let Some(fault) = turn.next()
            {
                tally.begins(fault);
                (fault.run)(&mut site);
            }
        }
        if until >= next_minute * 60 {
            println!("{}", tally.minute(next_minute, &site));
            next_minute += 1;
        }
    }
    let kept = writers.stop();
    let lost = writers::lost(&site, &kept);
    println!("\n{}", tally.by_fault());
    println!("objects that the API server had confirmed: {}, lost: {}", kept.len(), lost.len());
    assert_eq!(lost, [""; 0], "lost objects");
    tally.assert_right();
}
