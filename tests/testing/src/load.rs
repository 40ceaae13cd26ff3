//! A server under load, and others that take turns with it.

use std::{ffi::OsString, sync::Barrier};

use rustls::ClientConfig;

use crate::prelude::*;
use crate::{
    harness::process::Process,
    numbers::{Latencies, median, memory, processor_seconds},
    plain::Connection,
};

pub struct Side {
    pub name: &'static str,
    process: Process,
    address: SocketAddr,
    idle_memory: f64,
    pub answered: usize,
    rounds: Vec<Round>,
}

#[derive(Debug)]
pub struct Round {
    per_second: f64,
    pub p50: f64,
    p99: f64,
    /// The server's processor time per request, in microseconds.
    processor: f64,
}

pub struct Load {
    pub tls: Arc<ClientConfig>,
    pub request: Vec<u8>,
    pub connections: usize,
    pub rounds: usize,
    pub length: Duration,
}

impl Load {
    /// Sends the requests to each server in turn, in rounds, and prints the figures.
    pub fn take_turns(&self, sides: &mut [Side]) {
        for side in &mut *sides {
            side.wait(self);
            side.round(self, Duration::from_secs(1));
            side.rounds.clear();
        }
        for _ in 0..self.rounds {
            sides.iter_mut().for_each(|side| side.round(self, self.length));
        }
        sides.iter().for_each(Side::print);
    }

    fn drive(&self, address: SocketAddr, barrier: &Barrier, length: Duration) -> Vec<Duration> {
        let mut connection = Connection::open(address, &self.tls).expect("a connection");
        barrier.wait();
        let start = Instant::now();
        let mut latencies = Vec::new();
        while start.elapsed() < length {
            let sent = Instant::now();
            let (status, _) = connection.send(&self.request).expect("an answer");
            assert_eq!(status, 200, "the server must answer every review");
            latencies.push(sent.elapsed());
        }
        latencies
    }
}

impl Side {
    pub fn start(
        name: &'static str,
        folder: &Path,
        port: u16,
        core: Option<&str>,
        program: &Path,
        args: Vec<OsString>,
    ) -> Self {
        let logs = folder.join(name);
        fs::create_dir(&logs).expect("a folder");
        let process = if let Some(core) = core {
            let taskset = ["-c".into(), core.into(), program.into()];
            Process::start(Path::new("taskset"), taskset.into_iter().chain(args), &logs)
        } else {
            Process::start(program, args, &logs)
        };
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Side { name, process, address, idle_memory: 0.0, answered: 0, rounds: Vec::new() }
    }

    /// Prints the ratios to a second server: of the medians, and of each round to the second server's next round.
    pub fn compare(&self, other: &Side) {
        let processor = |side: &Side| side.median(|round| round.processor);
        let per_second = |side: &Side| side.median(|round| round.per_second);
        let pairs = self.rounds.iter().zip(&other.rounds);
        let mut ratios: Vec<f64> =
            pairs.map(|(our, their)| their.processor / our.processor).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        println!(
            "{} and {}: ratio of throughput {:.3}, of processor time per request {:.3} \
             (round by round {:.3}, {:.3} to {:.3})",
            self.name,
            other.name,
            per_second(self) / per_second(other),
            processor(other) / processor(self),
            median(ratios.iter().copied()),
            ratios.first().unwrap_or(&f64::NAN),
            ratios.last().unwrap_or(&f64::NAN),
        );
    }

    fn wait(&mut self, load: &Load) {
        let address = self.address;
        let body = self.process.wait_until("the server to answer", || {
            let mut connection = Connection::open(address, &load.tls).ok()?;
            let (status, body) = connection.send(&load.request).ok()?;
            (status == 200).then(|| String::from_utf8_lossy(body).into_owned())
        });
        assert!(body.contains(r#""allowed":true"#), "{} refuses: {body}", self.name);
        self.idle_memory = self.memory("VmRSS");
    }

    pub fn round(&mut self, load: &Load, length: Duration) {
        let barrier = Barrier::new(load.connections);
        let before = processor_seconds(self.process.id());
        let start = Instant::now();
        let latencies = thread::scope(|scope| {
            let drive = || load.drive(self.address, &barrier, length);
            let threads: Vec<_> = (0..load.connections).map(|_| scope.spawn(drive)).collect();
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

    pub fn median(&self, what: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(what))
    }

    pub fn memory(&self, field: &str) -> f64 {
        memory(self.process.id(), field).unwrap_or(f64::NAN)
    }

    fn print(&self) {
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
