//! The outcomes of the writes: by minute, and by the fault before them.

use std::{
    collections::BTreeMap,
    fs,
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{
    faults::Fault,
    numbers::{Latencies, memory},
    replica::Replica,
    site::Site,
};

/// The heads of the columns of [`Tally::minute`].
pub(crate) const HEAD: &str = "\
| minute | writes | refused, rightly | webhook not reached | denied, wrongly | allowed, wrongly | \
API server not reached | over 1 s | p50, p99, longest | memory, descriptors, threads of each replica |
|---|---|---|---|---|---|---|---|---|---|";

/// The outcome of a write.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Outcome {
    /// The API server stored a good object.
    Stored,
    /// setguard denied a bad object.
    Denied,
    /// The API server could not call setguard.
    NotReached,
    /// setguard denied a good object.
    WronglyDenied,
    /// A bad object was stored.
    WronglyStored,
    /// The API server did not answer, or could not.
    NoServer,
}

/// The counts since some time.
#[derive(Debug, Default)]
struct Counts {
    outcomes: BTreeMap<Outcome, usize>,
    latencies: Latencies,
    slow: usize,
}

#[derive(Debug)]
struct State {
    minute: Counts,
    fault: &'static Fault,
    since: Instant,
    /// By fault, and whether it began less than [`NEAR`] before.
    faults: BTreeMap<(&'static str, bool), Counts>,
    /// The first messages of wrong outcomes.
    messages: Vec<String>,
}

/// The outcomes of all writes.
#[derive(Debug)]
pub(crate) struct Tally(Mutex<State>);

/// The state before the first fault.
static NONE: Fault = Fault { name: "nothing", switches_off: false, run: |_| {} };

/// The time in which a fault may have an effect.
const NEAR: Duration = Duration::from_secs(15);

impl Tally {
    pub(crate) fn new() -> Self {
        Tally(Mutex::new(State {
            minute: Counts::default(),
            fault: &NONE,
            since: Instant::now(),
            faults: BTreeMap::new(),
            messages: Vec::new(),
        }))
    }

    /// Records the begin of a fault.
    pub(crate) fn begins(&self, fault: &'static Fault) {
        let mut state = self.0.lock().expect("an unpoisoned lock");
        (state.fault, state.since) = (fault, Instant::now());
    }

    /// Records a write that took this long, and the message of its failure.
    pub(crate) fn add(&self, outcome: Outcome, took: Duration, message: impl FnOnce() -> String) {
        let mut state = self.0.lock().expect("an unpoisoned lock");
        let is_near = state.since.elapsed() < NEAR;
        let is_wrong = match outcome {
            Outcome::WronglyDenied => true,
            Outcome::WronglyStored => !(state.fault.switches_off && is_near),
            _ => false,
        };
        if is_wrong && state.messages.len() < 10 {
            let message =
                format!("after {:?} of {}: {}", state.since.elapsed(), state.fault.name, message());
            state.messages.push(message);
        }
        let key = (state.fault.name, is_near);
        let State { minute, faults, .. } = &mut *state;
        for counts in [minute, faults.entry(key).or_default()] {
            *counts.outcomes.entry(outcome).or_default() += 1;
            counts.latencies.0.push(took);
            counts.slow += usize::from(took > Duration::from_secs(1));
        }
    }

    /// Returns the row of a minute, and begins the next.
    pub(crate) fn minute(&self, number: u64, site: &Site) -> String {
        let mut state = self.0.lock().expect("an unpoisoned lock");
        let mut counts = std::mem::take(&mut state.minute);
        let replicas: Vec<String> = site.replicas.iter().map(resources).collect();
        format!("| {number} | {} | {} |", counts.columns(), replicas.join("; "))
    }

    /// Returns a table of the outcomes by fault.
    pub(crate) fn by_fault(&self) -> String {
        let mut state = self.0.lock().expect("an unpoisoned lock");
        let mut table = HEAD.replace("| minute |", "| fault |");
        for ((fault, is_near), counts) in &mut state.faults {
            let when = if *is_near { "less than" } else { "more than" };
            let when = format!("{when} {} s after: {fault}", NEAR.as_secs());
            table.push_str(&format!("\n| {when} | {} | |", counts.columns()));
        }
        table
    }

    /// Asserts that setguard decided nothing wrongly.
    pub(crate) fn assert_right(&self) {
        let messages = &self.0.lock().expect("an unpoisoned lock").messages;
        assert!(messages.is_empty(), "{}", messages.join("\n"));
    }
}

impl Counts {
    fn columns(&mut self) -> String {
        let of = |outcome| self.outcomes.get(&outcome).copied().unwrap_or_default();
        let all: usize = self.outcomes.values().sum();
        let counts = [
            all,
            of(Outcome::Denied),
            of(Outcome::NotReached),
            of(Outcome::WronglyDenied),
            of(Outcome::WronglyStored),
            of(Outcome::NoServer),
            self.slow,
        ];
        let counts = counts.map(|count| count.to_string()).join(" | ");
        let [p50, p99, longest] = [50, 99, 100].map(|percent| self.latencies.percentile(percent));
        format!("{counts} | {p50:.0} ms, {p99:.0} ms, {longest:.0} ms")
    }
}

fn resources(replica: &Replica) -> String {
    let Some(id) = replica.id() else { return "down".to_owned() };
    let memory = memory(id, "VmRSS").unwrap_or(f64::NAN);
    let count =
        |folder: &str| fs::read_dir(format!("/proc/{id}/{folder}")).map_or(0, Iterator::count);
    format!("{memory:.0} MiB, {}, {}", count("fd"), count("task"))
}
