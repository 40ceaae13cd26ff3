use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;

/// A certificate and its key in memory. As with files, a [`Reloader`](super::Reloader) picks up a change.
#[derive(Clone)]
pub struct Slot(Arc<ArcSwap<(String, String)>>);

impl Slot {
    /// Creates a slot with this certificate and key (PEM).
    pub fn new(cert: String, key: String) -> Self {
        Slot(Arc::new(ArcSwap::from_pointee((cert, key))))
    }

    /// Returns the certificate and the key (PEM).
    pub fn get(&self) -> Arc<(String, String)> {
        self.0.load_full()
    }

    /// Replaces the certificate and the key.
    pub fn put(&self, cert: String, key: String) {
        self.0.store(Arc::new((cert, key)));
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.0.load().0).finish()
    }
}
