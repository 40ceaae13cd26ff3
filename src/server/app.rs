//! The state that all requests share.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::SeqCst},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::Semaphore;

use super::metrics::Metrics;
use crate::policy::Policy;

/// The largest AdmissionReview that is accepted, in bytes.
///
/// The API server accepts objects of up to 3 MiB and etcd stores up to 1.5 MiB. A review contains
/// the new and the old object as JSON, which is longer than the stored form, and the user. The API
/// server treats a body that is rejected here as a failed call, so the limit is generous.
pub const MAX_BODY: usize = 8 << 20;

/// The total size of all bodies that are in memory at one time, in KiB.
///
/// A typical review has 10 KiB, so there is room for thousands of them, or for eight of the
/// largest. Further requests wait, first come first served, for at most as long as the API server
/// waits for them. Shedding them instead would turn a burst of milliseconds into failed calls.
pub(crate) const BODY_BUDGET_KIB: usize = 64 << 10;

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
    /// The free part of [`BODY_BUDGET_KIB`].
    pub(crate) body_budget: Semaphore,
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
            body_budget: Semaphore::new(BODY_BUDGET_KIB),
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
