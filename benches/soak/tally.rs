//! The outcomes of the writes by the preceding fault.

use crate::{
    faults::SWITCHED_OFF,
    numbers::{Latencies, memory},
    replica::Replica,
    site::Site,
};
use setguard_testing::prelude::*;

pub(crate) const HEAD: &str = "\
| minute | fault | writes | refused, rightly | webhook not reached | denied, wrongly | allowed, wrongly | \
API server not reached | p50, p99, longest | memory, descriptors, threads of each replica |
|---|---|---|---|---|---|---|---|---|---|";

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Outcome {
    Stored,
    Denied,
    NotReached,
    WronglyDenied,
    WronglyStored,
    NoServer,
}

#[derive(Debug)]
struct Counts {
    fault: &'static str,
    since: Instant,
    outcomes: BTreeMap<Outcome, usize>,
    latencies: Latencies,
}

/// The outcomes of all writes, and the first messages of wrong ones.
#[derive(Debug)]
pub(crate) struct Tally(Mutex<(Counts, Vec<String>)>);

/// How long a fault may have an effect.
const NEAR: Duration = Duration::from_secs(15);

impl Tally {
    pub(crate) fn new() -> Self {
        Tally(Mutex::new((Counts::since("nothing"), Vec::new())))
    }

    pub(crate) fn begins(&self, fault: &'static str) {
        self.0.lock().expect("an unpoisoned lock").0 = Counts::since(fault);
    }

    pub(crate) fn add(&self, outcome: Outcome, took: Duration, message: &str) {
        let (counts, messages) = &mut *self.0.lock().expect("an unpoisoned lock");
        let is_wrong = match outcome {
            Outcome::WronglyDenied => true,
            Outcome::WronglyStored => counts.fault != SWITCHED_OFF || counts.since.elapsed() > NEAR,
            _ => false,
        };
        if is_wrong && messages.len() < 10 {
            let after = counts.since.elapsed();
            messages.push(format!("after {after:?} of {}: {message}", counts.fault));
        }
        *counts.outcomes.entry(outcome).or_default() += 1;
        counts.latencies.0.push(took);
    }

    pub(crate) fn row(&self, minute: f64, site: &Site) -> String {
        let counts = &mut self.0.lock().expect("an unpoisoned lock").0;
        let replicas: Vec<String> = site.replicas.iter().map(resources).collect();
        let (fault, columns) = (counts.fault, counts.columns());
        format!("| {minute:.1} | {fault} | {columns} | {} |", replicas.join("; "))
    }

    pub(crate) fn assert_right(&self) {
        let messages = &self.0.lock().expect("an unpoisoned lock").1;
        assert!(messages.is_empty(), "{}", messages.join("\n"));
    }
}

impl Counts {
    fn since(fault: &'static str) -> Self {
        let (outcomes, latencies) = (BTreeMap::new(), Latencies::default());
        Counts { fault, since: Instant::now(), outcomes, latencies }
    }

    fn columns(&mut self) -> String {
        let of = |outcome| self.outcomes.get(&outcome).copied().unwrap_or_default();
        let all: usize = self.outcomes.values().sum();
        let [denied, not_reached] = [Outcome::Denied, Outcome::NotReached].map(of);
        let wrong = [Outcome::WronglyDenied, Outcome::WronglyStored].map(of);
        let counts = [all, denied, not_reached, wrong[0], wrong[1], of(Outcome::NoServer)];
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
