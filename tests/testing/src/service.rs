//! A stand-in for kube-proxy: one address for a Service that forwards to the ready pods.

use std::{
    collections::VecDeque, net::SocketAddr, sync::Arc, sync::Mutex, time::Duration, time::Instant,
};

use crate::link::Link;

/// How long a change of the endpoints takes to propagate, as in a cluster.
const PROPAGATION: Duration = Duration::from_secs(1);

/// One loopback address. Serves until the tests end.
#[derive(Debug)]
pub struct Service {
    pub port: u16,
    endpoints: Arc<Mutex<History>>,
}

/// The endpoints over time, each with the time of the change; the newest last.
#[derive(Debug, Default)]
struct History {
    seen: VecDeque<(Instant, Vec<SocketAddr>)>,
    next: usize,
}

impl Service {
    pub fn start() -> Self {
        let endpoints = Arc::new(Mutex::new(History::default()));
        let shared = Arc::clone(&endpoints);
        let link = Link::through(move || shared.lock().expect("an unpoisoned lock").choose());
        Service { port: link.port, endpoints }
    }

    pub fn set(&self, ready: Vec<SocketAddr>) {
        let mut history = self.endpoints.lock().expect("an unpoisoned lock");
        if history.seen.back().is_none_or(|(_, last)| *last != ready) {
            history.seen.push_back((Instant::now(), ready));
        }
    }
}

impl History {
    /// Chooses the ready addresses in turn.
    fn choose(&mut self) -> Option<SocketAddr> {
        let known = |(since, _): &(Instant, _)| since.elapsed() >= PROPAGATION;
        while self.seen.get(1).is_some_and(known) {
            self.seen.pop_front();
        }
        let (_, ready) = self.seen.front().filter(|first| known(first))?;
        self.next += 1;
        ready.get(self.next % ready.len().max(1)).copied()
    }
}
