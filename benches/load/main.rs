//! Measures the whole program in one run: `setguard serve` against the same stack that answers
//! without reading, the same with a view of a large cluster, an API server with and without the webhooks, `setguard check`
//! on many files, and `setguard audit` of a large cluster. Uses only the loopback interface. See benches/README.md.
//!
//! `cargo bench --bench load -- [throughput] [view] [api-server] [check] [audit] [growth] [policies] [compare]`

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, fails by panicking and prints figures"
)]

mod api_server;
mod audit;
mod bare;
mod check;
mod cluster;
mod compare;
mod cost;
mod external;
mod growth;
mod plot;
mod policies;
mod throughput;
mod view;
mod writes;

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use clap::{Parser, ValueEnum};
use setguard_testing::{certificate, harness, numbers, plain, reviews};

/// The core for the measured server, and the core for the client that measures it.
const SERVER_CORE: &str = "0";
const CLIENT_CORE: &str = "1";
const PINNED: &str = "SETGUARD_LOAD_PINNED";
/// Names the file into which the figures of `throughput` are also written.
const FIGURES: &str = "SETGUARD_LOAD_FIGURES";

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
    /// The review that `throughput` sends
    #[arg(long, value_enum, default_value = "daemon-set-update")]
    review: Review,
    /// A folder for the plots of `growth`
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    /// Set by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
    /// Internal: run the server to compare with
    #[arg(long, hide = true, num_args = 3, value_names = ["ADDR", "CERT", "KEY"])]
    bare: Option<Vec<String>>,
}

/// A review as a kube-apiserver sends it.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Review {
    /// A new image of a DaemonSet, 7 KB
    DaemonSetUpdate,
    /// A new image of a DaemonSet, 300 KB
    DaemonSetUpdateLarge,
    /// A new image of a DaemonSet with 100 pods, 30 at a time
    #[value(name = "daemon-set-of-100-pods")]
    DaemonSetOf100Pods,
    /// A new DaemonSet
    DaemonSetCreate,
    /// A new partition of a StatefulSet
    StatefulSetUpdate,
}

impl Review {
    fn body(self) -> Vec<u8> {
        match self {
            Review::DaemonSetUpdate => reviews::daemon_set_update(reviews::SMALL),
            Review::DaemonSetUpdateLarge => reviews::daemon_set_update(reviews::LARGE),
            Review::DaemonSetOf100Pods => reviews::daemon_set_of_100_pods(),
            Review::DaemonSetCreate => reviews::daemon_set_create(),
            Review::StatefulSetUpdate => reviews::stateful_set_update(),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).expect("a name")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Section {
    Throughput,
    View,
    ApiServer,
    Check,
    Audit,
    Growth,
    /// ValidatingAdmissionPolicies of setguard and of other programs; only on request
    Policies,
    /// A comparison with other programs, as one table; only on request
    Compare,
}

fn main() {
    // `cargo test --all-targets` runs benchmarks too, without `--bench`.
    if !env::args().any(|arg| arg == "--bench" || arg == "--bare") {
        return;
    }
    let arguments = Arguments::parse();
    if let Some(bare) = &arguments.bare {
        return bare::serve(&bare[0], &bare[1], &bare[2]);
    }
    if env::var_os(PINNED).is_none() && env::var_os(FIGURES).is_none() {
        println!("{}", machine());
    }
    let wants = |section| arguments.sections.is_empty() || arguments.sections.contains(&section);
    if wants(Section::Throughput) {
        pinned(&arguments, "throughput", |arguments| {
            let figures = throughput::measure(arguments);
            if let Some(path) = env::var_os(FIGURES) {
                let figures = serde_json::to_vec(&figures).expect("JSON");
                fs::write(path, figures).expect("a file");
            }
        });
    }
    if wants(Section::View) {
        pinned(&arguments, "view", view::measure);
    }
    if wants(Section::ApiServer) {
        api_server::measure(&arguments);
    }
    if wants(Section::Check) {
        check::measure();
    }
    if wants(Section::Audit) {
        audit::measure();
    }
    if arguments.sections.contains(&Section::Compare) {
        compare(&arguments);
    }
    if arguments.sections.contains(&Section::Policies) {
        policies::measure(&arguments);
    }
    if wants(Section::Growth) {
        growth::measure(&arguments);
    }
}

/// Measures the throughput, then the rest, and prints one table.
fn compare(arguments: &Arguments) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("figures.json");
    // The load runs in a process of its own, which is tied to a core.
    let me = env::current_exe().expect("the path of this program");
    let rounds = arguments.rounds.to_string();
    let mut load = Command::new(me);
    load.args(["throughput", "--bench", "--seconds", &arguments.seconds.to_string()]);
    load.args(["--rounds", &rounds, "--connections", &arguments.connections.to_string()]);
    let status = load.env(FIGURES, &path).status().expect("this program starts");
    assert!(status.success(), "the measurement ended with {status}");
    let figures = fs::read(&path).expect("figures");
    let figures: Vec<throughput::Figures> = serde_json::from_slice(&figures).expect("figures");
    compare::measure(arguments, &figures);
}

/// Measures a section, with one core for the server and one for the client if possible.
fn pinned(arguments: &Arguments, section: &str, measure: fn(&Arguments)) {
    if env::var_os(PINNED).is_some() {
        println!("server on core {SERVER_CORE}, load on core {CLIENT_CORE}");
        measure(arguments);
    } else if taskset_works() {
        let me = env::current_exe().expect("the path of this program");
        let mut again = Command::new("taskset");
        again.args(["-c", CLIENT_CORE]).arg(me).arg(section);
        again.args(["--bench", "--seconds", &arguments.seconds.to_string()]);
        again.args(["--rounds", &arguments.rounds.to_string()]);
        again.args(["--connections", &arguments.connections.to_string()]);
        again.args(["--review", &arguments.review.name()]);
        let status = again.env(PINNED, "1").status().expect("taskset starts");
        assert!(status.success(), "the measurement ended with {status}");
    } else {
        println!("no taskset or no second core: server and load share the cores");
        measure(arguments);
    }
}

fn taskset_works() -> bool {
    let both = format!("{SERVER_CORE},{CLIENT_CORE}");
    let mut command = Command::new("taskset");
    command.args(["-c", &both, "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The machine that the measurements run on.
fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let models = processors.lines().filter(|line| line.starts_with("model name"));
    let names: Vec<&str> = models.filter_map(|line| Some(line.split_once(':')?.1.trim())).collect();
    let name = names.first().unwrap_or(&"unknown processor");
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{} x {name}, Linux {}", names.len(), kernel.trim())
}
