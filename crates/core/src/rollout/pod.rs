words! {
    /// The template that a pod was made from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Revision {
        /// An earlier template.
        Old => "old",
        /// The template of the new object.
        New => "new",
    }
}

/// The health of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The pod has been ready long enough to be available.
    Available,
    /// The pod has been ready since this second, but not long enough to be available.
    Ready(i64),
    /// The pod will become ready soon.
    Starting,
    /// The pod never becomes ready.
    Broken,
    /// All containers have terminated for good: the phase is `Failed` or `Succeeded`.
    Ended,
}

impl Health {
    /// Returns the health, at second 0, of a pod that must be ready for `min_ready_seconds`.
    pub const fn after(self, min_ready_seconds: i64) -> Self {
        match self {
            Health::Ready(since) if since + min_ready_seconds <= 0 => Health::Available,
            health => health,
        }
    }
}

/// Which new pods never become ready.
#[derive(Clone, Debug, Default)]
pub struct NeverReady {
    /// Whether no new pod becomes ready.
    pub all_new: bool,
    /// The ordinals of the StatefulSet's pods that never become ready.
    pub ordinals: Vec<i64>,
}

impl NeverReady {
    /// Makes every pod of the new revision fail to become ready.
    pub const fn all_new() -> Self {
        NeverReady { all_new: true, ordinals: Vec::new() }
    }

    /// Returns the health of a pod that is not ready yet. `ordinal` is `None` for a DaemonSet's pod.
    pub fn start(&self, revision: Revision, ordinal: Option<i64>) -> Health {
        let is_listed = ordinal.is_some_and(|ordinal| self.ordinals.contains(&ordinal));
        match is_listed || (self.all_new && revision == Revision::New) {
            true => Health::Broken,
            false => Health::Starting,
        }
    }

    /// Returns the health of an existing pod.
    pub fn health(&self, health: Health, revision: Revision, ordinal: Option<i64>) -> Health {
        match health {
            Health::Starting => self.start(revision, ordinal),
            health => health,
        }
    }
}
