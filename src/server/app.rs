//! The state that all requests share.

use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use arc_swap::ArcSwapOption;
use setguard_cluster::live::Release;
use tokio::sync::Semaphore;

use super::{
    body::BodyMemory,
    call_tracker::CallTracker,
    metrics::{Metrics, ReleaseSource},
};
use crate::server::prelude::*;

/// How many large reviews are evaluated at a time. With the bodies and the buffers of HTTP, they fit into the memory
/// limit of the chart.
const LARGE_REVIEWS: usize = 3;

/// The phase of the server's life.
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
    /// The sources of [`App::policy`].
    parts: Mutex<Parts>,
    /// The cluster as the watches report it.
    pub live: Arc<Live>,
    /// Counters and gauges, for `/metrics`.
    pub metrics: Metrics,
    pub(crate) calls: CallTracker,
    pub(crate) bodies: BodyMemory,
    /// Held while a large review is evaluated. Each may take up to 24 MiB, so only a few run at a time.
    pub(crate) evaluating: Arc<Semaphore>,
    phase: AtomicU8,
    /// Why the server is not ready although it listens.
    waiting: ArcSwapOption<String>,
}

#[derive(Debug, Default)]
struct Parts {
    policy: Policy,
    release: Option<Release>,
}

impl Parts {
    fn policy(&self) -> Policy {
        let policy = self.policy.clone();
        match &self.release {
            Some(release) => {
                policy.in_cluster(release.version, &release.gates).seen(release.is_newer())
            }
            None => policy,
        }
    }
}

impl App {
    /// Creates the state of a server that starts with this policy and does not see the cluster.
    pub fn new(policy: Policy) -> Arc<App> {
        App::with_view(policy, Live::off())
    }

    /// Creates the state of a server with this view of the cluster.
    pub fn with_view(policy: Policy, live: Arc<Live>) -> Arc<App> {
        let metrics = Metrics::with_view(&live);
        metrics.set_release(policy.cluster.version, ReleaseSource::of(&policy, None));
        metrics.policy_is_fallback.set(policy.is_fallback.into());
        Arc::new(App {
            policy: ArcSwap::from_pointee(policy.clone()),
            parts: Mutex::new(Parts { policy, release: None }),
            live,
            metrics,
            calls: CallTracker::default(),
            bodies: BodyMemory::of_all(),
            evaluating: Arc::new(Semaphore::new(LARGE_REVIEWS)),
            phase: AtomicU8::new(Phase::Starting as u8),
            waiting: ArcSwapOption::empty(),
        })
    }

    /// Replaces the policy.
    pub fn set_policy(&self, policy: Policy) {
        self.change(|parts| parts.policy = policy);
    }

    /// Sets the release that the API server reports. A release in the policy takes precedence.
    pub fn set_release(&self, release: Release) {
        self.change(|parts| parts.release = Some(release));
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        let mut parts = self.parts.lock();
        change(&mut parts);
        let policy = parts.policy();
        let source = ReleaseSource::of(&policy, parts.release.as_ref());
        if self.metrics.set_release(policy.cluster.version, source) {
            tracing::info!(
                kubernetes = %policy.cluster.version,
                source = source.as_str(),
                reported = parts.release.as_ref().map(|it| it.reported.as_str()),
                "checking objects against this release"
            );
        }
        self.metrics.policy_is_fallback.set(policy.is_fallback.into());
        self.policy.store(Arc::new(policy));
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        match self.phase.load(SeqCst) {
            phase if phase == Phase::Starting as u8 => Phase::Starting,
            phase if phase == Phase::Ready as u8 => Phase::Ready,
            _ => Phase::Draining,
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, SeqCst);
    }

    /// Returns why the server is not ready although it listens: a problem with its certificate.
    pub fn waiting(&self) -> Option<Arc<String>> {
        self.waiting.load_full()
    }

    /// Sets why the server is not ready, or `None` if it is.
    pub fn set_waiting(&self, why: Option<String>) {
        self.waiting.store(why.map(Arc::new));
    }
}
