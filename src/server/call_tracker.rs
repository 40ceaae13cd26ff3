//! Logs the first call from an API server, and warns of a long silence: without `--arm-webhooks`, nothing else notices.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use setguard_core::admission::Record;

use crate::server::prelude::*;

/// The namespace in the reviews of `setguard probe`. It need not exist. Its requests don't count as calls.
pub(crate) const PROBES: &str = "setguard-probe";

#[derive(Debug, Default)]
pub(crate) struct CallTracker {
    any: AtomicBool,
    is_logged: AtomicBool,
    /// Rehearsals, by endpoint.
    rehearsals: [AtomicUsize; 3],
}

impl CallTracker {
    pub(crate) fn answered(&self, endpoint: Endpoint, record: &Record) {
        if record.is_rehearsal {
            self.rehearsals[endpoint as usize].fetch_add(1, Relaxed);
        }
        // Nearly every request needs only this load.
        if self.any() || record.namespace == PROBES {
            return;
        }
        if !self.any.swap(true, Relaxed) && !self.is_logged.swap(true, Relaxed) {
            tracing::info!("an API server has called setguard for the first time");
        }
    }

    fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// Returns whether any API server has called since the last `take`.
    pub(crate) fn take(&self) -> bool {
        self.any.swap(false, Relaxed)
    }

    pub(crate) fn rehearsals(&self, endpoint: Endpoint) -> usize {
        self.rehearsals[endpoint as usize].load(Relaxed)
    }
}

/// After the first interval, only a silence this many times longer counts, because at night nobody may write a set.
const LATER: u32 = 12;

/// Warns if no API server has called within this time, and then once for each longer silence.
pub(crate) fn warn_of_silence(app: Arc<App>, within: Duration) {
    if within.is_zero() {
        return;
    }
    tokio::spawn(async move {
        let mut silence = within;
        let mut is_silent = false;
        while app.phase() == Phase::Ready {
            sleep(silence).await;
            let was_silent = std::mem::replace(&mut is_silent, !app.calls.take());
            if is_silent && !was_silent && app.phase() == Phase::Ready {
                tracing::warn!(
                    seconds = silence.as_secs(),
                    hint = "if DaemonSets or StatefulSets were written meanwhile, setguard guards nothing: is \
                            it registered (kubectl get validatingwebhookconfigurations), with rules, and can \
                            the API server reach the address there?",
                    "no API server has called setguard for a while"
                );
            }
            silence = within * LATER;
        }
    });
}
