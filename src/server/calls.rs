//! Which calls of API servers were answered. The first is in the log.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::admission::{Endpoint, Record};

/// The namespace of what `setguard probe` sends, which is no call of an API server. It need not exist.
pub(crate) const PROBES: &str = "setguard-probe";

/// The calls that were answered.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    any: AtomicBool,
    /// Rehearsals, by endpoint.
    rehearsals: [AtomicUsize; 3],
}

impl Calls {
    /// Counts an answer.
    pub(crate) fn answered(&self, endpoint: Endpoint, record: &Record) {
        if record.is_rehearsal {
            self.rehearsals[endpoint as usize].fetch_add(1, Relaxed);
        }
        // The load is what nearly every request pays.
        if self.any() || record.namespace == PROBES {
            return;
        }
        if !self.any.swap(true, Relaxed) {
            tracing::info!("an API server has called setguard for the first time");
        }
    }

    /// Whether any API server has called.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// How many rehearsals were answered here.
    pub(crate) fn rehearsals(&self, endpoint: Endpoint) -> usize {
        self.rehearsals[endpoint as usize].load(Relaxed)
    }
}
