//! The template and the health of the pods in a simulation.

/// The template that a pod was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// An earlier template.
    Old,
    /// The template of the new object.
    New,
}

impl Revision {
    /// Returns the name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Revision::Old => "old",
            Revision::New => "new",
        }
    }
}

/// The health of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The pod has been ready for long enough to be available.
    Available,
    /// The pod has been ready since this time, in seconds, but not for long enough.
    Ready(i64),
    /// The pod becomes ready soon.
    Starting,
    /// The pod never becomes ready.
    Broken,
    /// All containers have terminated for good: the phase is `Failed` or `Succeeded`.
    Ended,
}

impl Health {
    /// Returns the health at time 0 of a pod that has to be ready for this number of seconds.
    pub const fn after(self, min_ready_seconds: i64) -> Self {
        match self {
            Health::Ready(since) if since + min_ready_seconds <= 0 => Health::Available,
            health => health,
        }
    }
}

/// The new pods that never become ready.
#[derive(Clone, Debug, Default)]
pub struct NeverReady {
    /// Whether this applies to all pods of the new revision.
    pub all_new: bool,
    /// The pods of a StatefulSet with these ordinals.
    pub ordinals: Vec<i64>,
}

impl NeverReady {
    /// Returns all pods of the new revision.
    pub const fn all_new() -> Self {
        NeverReady { all_new: true, ordinals: Vec::new() }
    }

    /// Returns the health of a pod of this revision that is not ready yet, and that has this ordinal if
    /// it is a pod of a StatefulSet.
    pub fn start(&self, revision: Revision, ordinal: Option<i64>) -> Health {
        let is_listed = ordinal.is_some_and(|ordinal| self.ordinals.contains(&ordinal));
        match is_listed || (self.all_new && revision == Revision::New) {
            true => Health::Broken,
            false => Health::Starting,
        }
    }

    /// Returns the health of a pod that exists.
    pub fn health(&self, health: Health, revision: Revision, ordinal: Option<i64>) -> Health {
        match health {
            Health::Starting => self.start(revision, ordinal),
            health => health,
        }
    }
}
