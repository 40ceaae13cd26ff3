//! Attacks `setguard serve` over the loopback interface, and prints the cost of each attack and its effect on others:
//! a client with normal reviews, and a probe. See docs/security.md.
//!
//! `cargo bench --bench abuse -- [--seconds N] [WORD…]` runs the attacks with one of these words in their name.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, fails by panicking and prints figures"
)]

mod attacks;
mod client;
mod good;
mod objects;

use clap::Parser;
use setguard_testing::{harness, http, numbers, plain, reviews};
use tokio::runtime::Runtime;

use crate::{
    attacks::{ATTACKS, Attack},
    client::Target,
    good::Good,
    harness::server::Server,
    numbers::{memory, processor_seconds},
};
use setguard_testing::prelude::*;

#[derive(Debug, Parser)]
struct Arguments {
    /// Words in the names of attacks; all attacks by default
    words: Vec<String>,
    /// Length of an attack in seconds
    #[arg(long, default_value = "8")]
    seconds: u64,
    /// The program to attack, instead of the one that was built
    #[arg(long, default_value = env!("CARGO_BIN_EXE_setguard"))]
    program: PathBuf,
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
    let wanted = |attack: &&Attack| {
        arguments.words.is_empty() || arguments.words.iter().any(|word| attack.name.contains(word))
    };
    println!("attacks of {} s each", arguments.seconds);
    println!(
        "| attack | sent | processor | peak memory | longest /livez | good reviews answered \
         | their p50, p99 before | during |\n|---|---|---|---|---|---|---|---|"
    );
    for attack in ATTACKS.iter().filter(wanted) {
        run(attack, &arguments);
    }
}

fn run(attack: &'static Attack, arguments: &Arguments) {
    let length = Duration::from_secs(arguments.seconds);
    // Nobody reads the pipe.
    let log = (!attack.reads_log).then(Stdio::piped);
    let server = Server::start(&arguments.program, &["--log-format=json"], &[], log);
    let (target, id) = (Target::of(&server), server.process.id());
    good::reviews(&target, attack.good, Duration::from_secs(1));
    let mut before = good::reviews(&target, attack.good, length);

    let used = processor_seconds(id);
    let start = Instant::now();
    let attacker = thread::spawn({
        let target = target.clone();
        let end = start + length;
        move || {
            let runtime = Runtime::new().expect("a runtime");
            let sent = runtime.block_on((attack.run)(target, end));
            runtime.shutdown_background();
            sent
        }
    });
    let prober = thread::spawn({
        let target = target.clone();
        move || good::longest_probe(&target, length)
    });
    let mut during = good::reviews(&target, attack.good, length);
    let longest = prober.join().expect("probes");
    let sent = attacker.join().expect("the attack");
    let lives = memory(id, "VmHWM");
    let peak = lives.map_or("killed".to_owned(), |peak| format!("{peak:.0} MiB"));
    println!(
        "| {} | {sent} | {:.1} s | {peak} | {longest} | {} | {} | {} |",
        attack.name,
        processor_seconds(id) - used,
        during.answered(),
        before.latency(),
        during.latency(),
    );
}

impl Good {
    fn answered(&self) -> String {
        let answered = self.latencies.0.len();
        format!("{answered} of {}", answered + self.failed)
    }

    fn latency(&mut self) -> String {
        let latencies = &mut self.latencies;
        format!("{:.1} ms, {:.1} ms", latencies.percentile(50), latencies.percentile(99))
    }
}
