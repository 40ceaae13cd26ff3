//! The state that all requests share.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU8, Ordering::SeqCst},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::Semaphore;

use super::{
    body::Budget,
    calls::Calls,
    metrics::{Metrics, ReleaseSource},
};
use crate::{
    live::{Live, Release},
    policy::Policy,
};

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
    /// The policy in force, for the release of this cluster.
    pub policy: ArcSwap<Policy>,
    /// What the policy in force was made of.
    parts: Mutex<Parts>,
    /// The cluster as it is now.
    pub live: Arc<Live>,
    /// The metrics.
    pub metrics: Metrics,
    /// Whether an API server calls.
    pub(crate) calls: Calls,
    /// The memory for the bodies of requests.
    pub(crate) bodies: Budget,
    /// Taken while a large review is judged. Each may take up to 24 MiB, so few are judged at once.
    pub(crate) judging: Arc<Semaphore>,
    phase: AtomicU8,
    /// Why the server is not ready although it listens, if it is not.
    waiting: ArcSwapOption<String>,
}

/// The policy as it was read, and what the API server says that it is.
#[derive(Debug, Default)]
struct Parts {
    policy: Policy,
    release: Option<Release>,
}

impl Parts {
    fn policy(&self) -> Policy {
        let policy = self.policy.clone();
        match &self.release {
            Some(release) => policy.in_cluster(release.version, &release.gates),
            None => policy,
        }
    }
}

impl App {
    /// The state of a server that starts with this policy, and sees nothing of the cluster.
    pub fn new(policy: Policy) -> Arc<App> {
        App::with_view(policy, Live::off())
    }

    /// The state of a server that starts with this policy and this view of the cluster.
    pub fn with_view(policy: Policy, live: Arc<Live>) -> Arc<App> {
        let metrics = Metrics::with_view(&live);
        metrics.set_release(policy.cluster.version, ReleaseSource::of(&policy, None));
        metrics.policy.set_fallback(policy.is_fallback);
        Arc::new(App {
            policy: ArcSwap::from_pointee(policy.clone()),
            parts: Mutex::new(Parts { policy, release: None }),
            live,
            metrics,
            calls: Calls::default(),
            bodies: Budget::of_all(),
            judging: Arc::new(Semaphore::new(LARGE_REVIEWS)),
            phase: AtomicU8::new(Phase::Starting as u8),
            waiting: ArcSwapOption::empty(),
        })
    }

    /// Takes a new policy.
    pub fn set_policy(&self, policy: Policy) {
        self.change(|parts| parts.policy = policy);
    }

    /// Takes what the API server says that it is. A policy that names a release goes before it.
    pub fn set_release(&self, release: Release) {
        self.change(|parts| parts.release = Some(release));
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut parts);
        let policy = parts.policy();
        let source = ReleaseSource::of(&policy, parts.release.as_ref());
        if self.metrics.set_release(policy.cluster.version, source) {
            tracing::info!(
                kubernetes = %policy.cluster.version,
                source = source.as_str(),
                reported = parts.release.as_ref().map(|it| it.reported.as_str()),
                "judging by this release"
            );
        }
        self.metrics.policy.set_fallback(policy.is_fallback);
        self.policy.store(Arc::new(policy));
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
