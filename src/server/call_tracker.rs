//! Records which calls of API servers were answered, logs the first, and warns of a long silence. Without `--arm-webhooks`
//! nothing else would.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use setguard_core::admission::{Endpoint, Record};
use tokio::time::sleep;

use super::app::{App, Phase};

/// The namespace of the objects that `setguard probe` sends, which are not calls of an API server.
/// The namespace need not exist.
pub(crate) const PROBES: &str = "setguard-probe";

/// The calls that were answered.
#[derive(Debug, Default)]
pub(crate) struct CallTracker {
    /// Whether there was a call since [`CallTracker::take`].
    any: AtomicBool,
    /// Whether the first call was logged.
    is_logged: AtomicBool,
    /// Rehearsals, by endpoint.
    rehearsals: [AtomicUsize; 3],
}

impl CallTracker {
    /// Counts an answer.
    pub(crate) fn answered(&self, endpoint: Endpoint, record: &Record) {
        if record.is_rehearsal {
            self.rehearsals[endpoint as usize].fetch_add(1, Relaxed);
        }
        // Nearly every request pays only for this load.
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

    /// Returns whether any API server has called since this was asked last.
    pub(crate) fn take(&self) -> bool {
        self.any.swap(false, Relaxed)
    }

    /// Returns the number of rehearsals that this replica answered.
    pub(crate) fn rehearsals(&self, endpoint: Endpoint) -> usize {
        self.rehearsals[endpoint as usize].load(Relaxed)
    }
}

/// After the first call, a silence has to be so many times longer: at night perhaps nobody writes a set.
const LATER: u32 = 12;

/// Warns if no API server has called within this time, and then once in each longer silence.
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
