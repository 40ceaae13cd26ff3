//! Obstacles that keep a rollout from its end, and for how long it is given the benefit of the doubt.

use jiff::{SignedDuration, Timestamp};

use crate::{kubernetes::cluster::Cluster, observed::Observed};

/// Something that keeps a rollout from its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// The key by which it is recognized the next time.
    pub(crate) key: String,
    pub(crate) hold: Hold,
    /// The description for a line of the log.
    pub(crate) text: String,
    /// The pod that waits, if one does.
    pub(crate) pod: Option<String>,
    /// Since when, as the cluster says, in seconds since 1970.
    pub(crate) since: Option<i64>,
    /// The repair that `--repair` may make.
    pub(crate) repair: Option<Repair>,
}

/// For how long an obstacle may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// An obstacle that does not go away by itself: only long enough to see that it stays.
    Fact,
    /// An obstacle that seldom goes away by itself: another client may be about to create what is missing.
    Likely,
    /// An obstacle that often goes away by itself: for the patience of the user, from when it was first seen.
    Transient,
    /// A transient obstacle whose patience runs from this second on.
    TransientSince(i64),
    /// Until this second, and no shorter than if it were transient.
    Until(i64),
    /// A pod that is only slow.
    Slow,
}

/// A repair that `--repair` may make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Delete this pod, which comes back with the new revision.
    DeletePod(String),
    /// Make the controller try now.
    Poke,
}

/// How patient to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// With what is a fact.
    pub(crate) fact: SignedDuration,
    /// With what seldom goes away.
    pub(crate) likely: SignedDuration,
    /// With what often goes away.
    pub(crate) transient: SignedDuration,
    /// After so many restarts a container that goes on ending is a fact.
    pub(crate) restarts: i32,
}

impl Limits {
    /// The limits that follow from the patience of the user.
    pub(crate) fn of(patience: SignedDuration, restarts: i32) -> Self {
        Limits {
            fact: SignedDuration::from_secs(10).min(patience),
            likely: SignedDuration::from_mins(1).min(patience),
            transient: patience,
            restarts,
        }
    }
}

/// The cluster, and the moment at which it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) cluster: &'a Cluster,
    pub(crate) now: Timestamp,
    /// When the wait began.
    pub(crate) begun: Timestamp,
    pub(crate) limits: Limits,
    /// Whether a DaemonSet that matches no node counts as rolled out.
    pub(crate) allow_none: bool,
}

impl Obstacle {
    pub(crate) fn new(key: impl Into<String>, hold: Hold, text: impl Into<String>) -> Self {
        let (key, text) = (key.into(), text.into());
        Obstacle { key, hold, text, pod: None, since: None, repair: None }
    }

    /// The obstacle of a pod.
    pub(crate) fn of_pod(mut self, pod: &str, since: i64) -> Self {
        self.key = format!("{pod}: {}", self.key);
        self.pod = Some(pod.to_owned());
        self.since = Some(since);
        self
    }

    /// Whether it has lasted for too long.
    pub(crate) fn has_lasted(&self, first: Timestamp, view: &View<'_>) -> bool {
        let for_long = |limit: SignedDuration| view.now.duration_since(first) >= limit;
        let limits = &view.limits;
        let now = view.now.as_second();
        match self.hold {
            Hold::Fact => for_long(limits.fact),
            Hold::Likely => for_long(limits.likely),
            Hold::Transient => for_long(limits.transient),
            Hold::TransientSince(since) => {
                for_long(limits.fact) && now.saturating_sub(since) >= limits.transient.as_secs()
            }
            Hold::Until(end) => now >= end && for_long(limits.transient),
            Hold::Slow => false,
        }
    }
}
