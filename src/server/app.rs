//! What all requests share.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::SeqCst},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::Semaphore;

use super::metrics::Metrics;
use crate::policy::Policy;

/// The largest AdmissionReview that is read.
///
/// The API server takes objects of up to 3 MiB and etcd stores up to 1.5 MiB; a review holds a new
/// and an old object as JSON, which is longer than what is stored, and the user beside them. What
/// is refused here is a failed call for the API server, so there is room to spare.
pub const MAX_BODY: usize = 8 << 20;

/// All bodies that are in memory at one time, in KiB.
///
/// A usual review has 10 KiB, so this is thousands of them at once; and eight of the largest. More
/// wait their turn, first come first served, and not longer than the API server waits for them: a
/// burst that passes in milliseconds must not become refusals, as shedding it would make it.
pub(crate) const BODY_BUDGET_KIB: usize = 64 << 10;

/// Where the server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Not listening yet.
    Starting,
    /// Listening, with policy and certificate.
    Ready,
    /// On its way out: still answering, but nobody new should come.
    Draining,
}

/// What all requests share.
#[derive(Debug)]
pub struct App {
    /// The policy in force.
    pub policy: ArcSwap<Policy>,
    /// What is counted.
    pub metrics: Metrics,
    /// Room for bodies, in KiB.
    pub(crate) body_budget: Semaphore,
    phase: AtomicU8,
    /// Why nobody should come although it listens, if there is a reason.
    waiting: ArcSwapOption<String>,
}

impl App {
    /// An app that goes by this policy.
    pub fn new(policy: Policy) -> Arc<App> {
        Arc::new(App {
            policy: ArcSwap::from_pointee(policy),
            metrics: Metrics::default(),
            body_budget: Semaphore::new(BODY_BUDGET_KIB),
            phase: AtomicU8::new(Phase::Starting as u8),
            waiting: ArcSwapOption::empty(),
        })
    }

    /// Where the server is in its life.
    pub fn phase(&self) -> Phase {
        match self.phase.load(SeqCst) {
            phase if phase == Phase::Starting as u8 => Phase::Starting,
            phase if phase == Phase::Ready as u8 => Phase::Ready,
            _ => Phase::Draining,
        }
    }

    /// Goes on to the next phase of its life.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, SeqCst);
    }

    /// Why nobody should come although it listens: what the certificate waits for.
    pub fn waiting(&self) -> Option<Arc<String>> {
        self.waiting.load_full()
    }

    /// Says why nobody should come, or that there is no reason any more.
    pub fn set_waiting(&self, why: Option<String>) {
        self.waiting.store(why.map(Arc::new));
    }
}
