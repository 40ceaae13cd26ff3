//! `setguard serve` against the same stack that answers `allowed: true` without reading, and against
//! other webhooks.

use std::{
    env,
    ffi::OsString,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use rustls::ClientConfig;
use serde::{Deserialize, Serialize};

use crate::{
    Arguments, PINNED, SERVER_CORE, certificate,
    external::{self, External},
    harness::{
        control_plane::{ASSETS, ControlPlane},
        process::{Process, free_ports},
    },
    numbers::{Latencies, median, memory, processor_seconds},
    plain::{self, Connection},
};

/// The memory is measured again after this many requests.
const MANY: usize = 1_000_000;
/// Names another binary of setguard, which takes turns with the measured one.
pub(crate) const OTHER: &str = "SETGUARD_OTHER";
/// Names a policy file for a second server, which takes turns with the one without a policy.
const OTHER_POLICY: &str = "SETGUARD_OTHER_POLICY";

/// A server under load, and its measurements.
pub(crate) struct Side {
    name: &'static str,
    process: Process,
    address: SocketAddr,
    idle_memory: f64,
    answered: usize,
    pub(crate) rounds: Vec<Round>,
}

/// The results of one round.
#[derive(Debug)]
pub(crate) struct Round {
    per_second: f64,
    pub(crate) p50: f64,
    p99: f64,
    /// Processor time of the server per request, in microseconds.
    pub(crate) processor: f64,
}

/// The medians of a server's rounds.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Figures {
    pub(crate) name: String,
    /// Answers a second.
    pub(crate) per_second: f64,
    /// Processor time a request, in microseconds.
    pub(crate) processor: f64,
    /// The memory after its requests, in MiB; for setguard after [`MANY`].
    pub(crate) memory: f64,
}

/// Measures and prints the results of setguard, the bare server and the servers that the
/// environment names.
pub(crate) fn measure(arguments: &Arguments) -> Vec<Figures> {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = certificate::write(folder.path());
    let tls = plain::trust(&certificate);
    let body = arguments.review.body();
    let request = plain::post("/validate?timeout=10s", "", &body);
    let control_plane = env::var_os(ASSETS).map(|assets| (assets, external::named()));
    let control_plane = control_plane.filter(|(_, named)| !named.is_empty());
    let control_plane =
        control_plane.map(|(assets, named)| (ControlPlane::start(Path::new(&assets)), named));
    println!(
        "\nthroughput: {}, {} bytes, {} connections, {} rounds of {} s each in turn",
        arguments.review.name(),
        body.len(),
        arguments.connections,
        arguments.rounds,
        arguments.seconds
    );

    let ours =
        Side::start("setguard", folder.path(), |port| setguard_args(port, &certificate, &key));
    let bare = Side::start("bare", folder.path(), |port| bare_args(port, &certificate, &key));
    let mut sides = vec![(ours, tls.clone(), request.clone())];
    let [other, policy] = [OTHER, OTHER_POLICY].map(env::var_os);
    if other.is_some() || policy.is_some() {
        let program = |port| {
            let (program, mut args) = setguard_args(port, &certificate, &key);
            args.extend(policy.into_iter().flat_map(|policy| ["--policy".into(), policy]));
            (other.map_or(program, PathBuf::from), args)
        };
        let side = Side::start("other", folder.path(), program);
        sides.push((side, tls.clone(), request.clone()));
    }
    sides.push((bare, tls, request));
    if let Some((control_plane, named)) = &control_plane {
        for (name, program) in named {
            let External { name, process, address, tls, request, .. } =
                External::start(control_plane, name, program);
            sides.push((Side::new(name, process, address), tls, request));
        }
    }
    take_turns(&mut sides, arguments);
    sides.iter().for_each(|(side, ..)| side.print());
    let mut figures: Vec<Figures> = sides.iter().map(|(side, ..)| side.figures()).collect();
    if let [(ours, ..), others @ ..] = &*sides {
        others.iter().for_each(|(other, ..)| ours.compare(other));
    }
    figures[0].memory = memory_after_many(&mut sides[0], arguments);
    figures
}

/// A server, what trusts its certificate, and the request that it gets.
type Loaded = (Side, Arc<ClientConfig>, Vec<u8>);

/// Sends the requests to one server after the other, in rounds.
fn take_turns(sides: &mut [Loaded], arguments: &Arguments) {
    for (side, tls, request) in &mut *sides {
        side.wait(tls, request);
        side.round(arguments.connections, tls, request, Duration::from_secs(1));
        side.rounds.clear();
    }
    for _ in 0..arguments.rounds {
        for (side, tls, request) in &mut *sides {
            let length = Duration::from_secs(arguments.seconds);
            side.round(arguments.connections, tls, request, length);
        }
    }
}

/// Returns the memory of a server after many requests, in MiB.
fn memory_after_many((side, tls, request): &mut Loaded, arguments: &Arguments) -> f64 {
    let start = Instant::now();
    while side.answered < MANY && start.elapsed() < Duration::from_secs(120) {
        let length = Duration::from_secs(arguments.seconds);
        side.round(arguments.connections, tls, request, length);
    }
    println!(
        "setguard after {} requests: {:.1} MiB resident, {:.1} MiB at most",
        side.answered,
        side.memory("VmRSS"),
        side.memory("VmHWM")
    );
    side.memory("VmRSS")
}

pub(crate) fn setguard_args(port: u16, certificate: &Path, key: &Path) -> (PathBuf, Vec<OsString>) {
    let args = vec![
        "serve".into(),
        format!("--listen=127.0.0.1:{port}").into(),
        "--admin-listen=127.0.0.1:0".into(),
        "--tls-cert".into(),
        certificate.into(),
        "--tls-key".into(),
        key.into(),
    ];
    (setguard(), args)
}

/// Returns the program to measure: the binary of this build, or the one that `SETGUARD` selects.
pub(crate) fn setguard() -> PathBuf {
    env::var_os("SETGUARD").map_or_else(|| env!("CARGO_BIN_EXE_setguard").into(), PathBuf::from)
}

pub(crate) fn bare_args(port: u16, certificate: &Path, key: &Path) -> (PathBuf, Vec<OsString>) {
    let address = format!("127.0.0.1:{port}");
    let args = vec!["--bare".into(), address.into(), certificate.into(), key.into()];
    (env::current_exe().expect("the path of this program"), args)
}

impl Side {
    pub(crate) fn start(
        name: &'static str,
        folder: &Path,
        program: impl FnOnce(u16) -> (PathBuf, Vec<OsString>),
    ) -> Self {
        let logs = folder.join(name);
        fs::create_dir(&logs).expect("a folder");
        let [port] = free_ports();
        let (program, args) = program(port);
        let process = if env::var_os(PINNED).is_some() {
            let taskset = ["-c".into(), SERVER_CORE.into(), program.into_os_string()];
            Process::start(Path::new("taskset"), taskset.into_iter().chain(args), &logs)
        } else {
            Process::start(&program, args, &logs)
        };
        Side::new(name, process, SocketAddr::from(([127, 0, 0, 1], port)))
    }

    fn new(name: &'static str, process: Process, address: SocketAddr) -> Self {
        Side { name, process, address, idle_memory: 0.0, answered: 0, rounds: Vec::new() }
    }

    /// Prints the ratios to another server: of the medians, and of each round to the round of the
    /// other that followed it.
    fn compare(&self, other: &Side) {
        let [ours, theirs] = [self.figures(), other.figures()];
        let pairs = self.rounds.iter().zip(&other.rounds);
        let mut ratios: Vec<f64> =
            pairs.map(|(our, their)| their.processor / our.processor).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        println!(
            "{} and {}: ratio of throughput {:.3}, of processor time per request {:.3} \
             (round by round {:.3}, {:.3} to {:.3})",
            ours.name,
            theirs.name,
            ours.per_second / theirs.per_second,
            theirs.processor / ours.processor,
            median(ratios.iter().copied()),
            ratios.first().unwrap_or(&f64::NAN),
            ratios.last().unwrap_or(&f64::NAN),
        );
    }

    fn figures(&self) -> Figures {
        Figures {
            name: self.name.to_owned(),
            per_second: self.median(|round| round.per_second),
            processor: self.median(|round| round.processor),
            memory: self.memory("VmRSS"),
        }
    }

    pub(crate) fn wait(&mut self, tls: &Arc<ClientConfig>, request: &[u8]) {
        let address = self.address;
        let body = self.process.wait_until("the server to answer", || {
            let mut connection = Connection::open(address, tls).ok()?;
            let (status, body) = connection.send(request).ok()?;
            (status == 200).then(|| String::from_utf8_lossy(body).into_owned())
        });
        assert!(body.contains(r#""allowed":true"#), "{} refuses: {body}", self.name);
        self.idle_memory = self.memory("VmRSS");
    }

    pub(crate) fn round(
        &mut self,
        connections: usize,
        tls: &Arc<ClientConfig>,
        request: &[u8],
        length: Duration,
    ) {
        let barrier = Barrier::new(connections);
        let before = processor_seconds(self.process.id());
        let start = Instant::now();
        let latencies = thread::scope(|scope| {
            let drive = || drive(self.address, tls, request, &barrier, length);
            let threads: Vec<_> = (0..connections).map(|_| scope.spawn(drive)).collect();
            threads.into_iter().flat_map(|t| t.join().expect("answers")).collect()
        });
        let seconds = start.elapsed().as_secs_f64();
        let mut latencies = Latencies(latencies);
        let count = latencies.0.len();
        self.answered += count;
        self.rounds.push(Round {
            per_second: count as f64 / seconds,
            p50: latencies.percentile(50),
            p99: latencies.percentile(99),
            processor: (processor_seconds(self.process.id()) - before) * 1e6 / count as f64,
        });
    }

    pub(crate) fn median(&self, what: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(what))
    }

    pub(crate) fn memory(&self, field: &str) -> f64 {
        memory(self.process.id(), field).unwrap_or(f64::NAN)
    }

    pub(crate) fn print(&self) {
        println!(
            "{:10} {:7.0} req/s  p50 {:.3} ms  p99 {:.3} ms  {:5.1} us processor/req  \
             {:.1} MiB idle, {:.1} MiB after {} requests",
            self.name,
            self.median(|round| round.per_second),
            self.median(|round| round.p50),
            self.median(|round| round.p99),
            self.median(|round| round.processor),
            self.idle_memory,
            self.memory("VmRSS"),
            self.answered
        );
    }
}

/// Sends requests over one connection until the round ends. Returns their latencies.
fn drive(
    address: SocketAddr,
    tls: &Arc<ClientConfig>,
    request: &[u8],
    barrier: &Barrier,
    length: Duration,
) -> Vec<Duration> {
    let mut connection = Connection::open(address, tls).expect("a connection");
    barrier.wait();
    let start = Instant::now();
    let mut latencies = Vec::new();
    while start.elapsed() < length {
        let sent = Instant::now();
        let (status, _) = connection.send(request).expect("an answer");
        assert_eq!(status, 200, "the server must answer every review");
        latencies.push(sent.elapsed());
    }
    latencies
}
