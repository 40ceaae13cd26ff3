//! Records which calls of API servers were answered, and logs the first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::admission::{Endpoint, Record};

/// The namespace of the objects that `setguard probe` sends, which are not calls of an API server.
/// The namespace need not exist.
pub(crate) const PROBES: &str = "setguard-probe";

/// The calls that were answered.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Whether there was a call since [`Calls::take`].
    any: AtomicBool,
    /// Whether the first call was logged.
    is_logged: AtomicBool,
    /// Rehearsals, by endpoint.
    rehearsals: [AtomicUsize; 3],
}

impl Calls {
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
