//! Measures `setguard serve`: against the same stack that answers without reading, with a view of a large cluster, and
//! behind a real API server. Uses only the loopback interface. See benches/README.md.
//!
//! `cargo bench --bench load -- [throughput] [view] [api-server]`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, fails by panicking and prints figures"
)]

mod api_server;
mod bare;
mod throughput;
mod view;

use std::process;

use clap::{Parser, ValueEnum};
use setguard_testing::{
    certificate, harness, http,
    load::{self, Load},
    manifests, numbers, plain, reviews,
};

use setguard_testing::prelude::*;

/// The core for the server, and the core for the client.
const SERVER_CORE: &str = "0";
const CLIENT_CORE: &str = "1";

#[derive(Debug, Parser)]
struct Arguments {
    /// Sections to measure; all by default
    sections: Vec<Section>,
    /// Length of a round in seconds
    #[arg(long, default_value = "4")]
    seconds: u64,
    /// Rounds per side; the sides take turns
    #[arg(long, default_value = "5")]
    rounds: usize,
    /// Connections that are kept alive
    #[arg(long, default_value = "8")]
    connections: usize,
    /// The review that `throughput` sends, in JSON; by default the UPDATE of a DaemonSet
    #[arg(long, value_name = "FILE")]
    review: Option<PathBuf>,
    /// The size of that UPDATE, in environment variables: 5 are 7 KB, 1240 are 300 KB
    #[arg(long, default_value_t = reviews::SMALL)]
    variables: usize,
    /// Set by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
    /// Internal: run the server to compare with
    #[arg(long, hide = true, num_args = 3, value_names = ["ADDR", "CERT", "KEY"])]
    bare: Option<Vec<String>>,
}

impl Arguments {
    fn load(&self, certificate: &Path, review: &[u8]) -> Load {
        Load {
            tls: plain::trust(certificate),
            request: plain::post("/validate?timeout=10s", "", review),
            connections: self.connections,
            rounds: self.rounds,
            length: Duration::from_secs(self.seconds),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Section {
    Throughput,
    View,
    ApiServer,
}

fn main() {
    // `cargo test --all-targets` runs benchmarks too, but without `--bench`.
    if !env::args().any(|arg| arg == "--bench" || arg == "--bare") {
        return;
    }
    let arguments = Arguments::parse();
    if let Some(bare) = &arguments.bare {
        return bare::serve(&bare[0], &bare[1], &bare[2]);
    }
    let wants = |section| arguments.sections.is_empty() || arguments.sections.contains(&section);
    // First, because an API server needs all cores.
    if wants(Section::ApiServer) {
        api_server::measure(&arguments);
    }
    let core = pin_to_client_core().then_some(SERVER_CORE);
    if wants(Section::Throughput) {
        throughput::measure(&arguments, core);
    }
    if wants(Section::View) {
        view::measure(&arguments, core);
    }
}

/// Pins this thread and its children to a core that the servers do not use. Returns whether such a core exists.
fn pin_to_client_core() -> bool {
    let taskset = |arguments: &[&str]| {
        let output = Command::new("taskset").args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    let is_pinned = taskset(&["-c", SERVER_CORE, "true"])
        && taskset(&["-cp", CLIENT_CORE, &process::id().to_string()]);
    if is_pinned {
        println!("\nserver on core {SERVER_CORE}, load on core {CLIENT_CORE}");
    } else {
        println!("\nno taskset or no second core: server and load share the cores");
    }
    is_pinned
}
