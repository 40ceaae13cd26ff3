//! The state that all requests share.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::SeqCst},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::Semaphore;

use super::{body::Budget, metrics::Metrics};
use crate::policy::Policy;

/// How many large reviews are judged at one time: so few that they, the bodies and what HTTP keeps
/// fit into the memory limit of the chart together.
const LARGE_REVIEWS: usize = 3;

/// The server's phase of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Not listening yet.
    Starting,
    /// Listening, with a policy and a certificate.
    Ready,
    /// Shutting down: still answering, but clients should connect elsewhere.
    Draining,
}

/// The state that all requests share.
#[derive(Debug)]
pub struct App {
    /// The policy in force.
    pub policy: ArcSwap<Policy>,
    /// The metrics.
    pub metrics: Metrics,
    /// The memory for the bodies of requests.
    pub(crate) bodies: Budget,
    /// Taken while a large review is judged. Each may take up to 24 MiB, so few are judged at once.
    pub(crate) judging: Arc<Semaphore>,
    phase: AtomicU8,
    /// Why the server is not ready although it listens, if it is not.
    waiting: ArcSwapOption<String>,
}

impl App {
    /// The state of a server that starts with this policy.
    pub fn new(policy: Policy) -> Arc<App> {
        Arc::new(App {
            policy: ArcSwap::from_pointee(policy),
            metrics: Metrics::default(),
            bodies: Budget::of_all(),
            judging: Arc::new(Semaphore::new(LARGE_REVIEWS)),
            phase: AtomicU8::new(Phase::Starting as u8),
            waiting: ArcSwapOption::empty(),
        })
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        match self.phase.load(SeqCst) {
            phase if phase == Phase::Starting as u8 => Phase::Starting,
            phase if phase == Phase::Ready as u8 => Phase::Ready,
            _ => Phase::Draining,
        }
    }

    /// Sets the phase.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, SeqCst);
    }

    /// Why the server is not ready although it listens: what is missing for its certificate.
    pub fn waiting(&self) -> Option<Arc<String>> {
        self.waiting.load_full()
    }

    /// Sets why the server is not ready, or `None` if it is.
    pub fn set_waiting(&self, why: Option<String>) {
        self.waiting.store(why.map(Arc::new));
    }
}
