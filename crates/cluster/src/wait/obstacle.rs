//! The obstacles that keep a rollout from its end, and the time that each is tolerated.

use jiff::{SignedDuration, Timestamp};
use setguard_core::{kubernetes::cluster::Cluster, observed::Observed, rules::rule::status::Audit};

/// A condition that keeps a rollout from its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// The key by which the obstacle is recognized the next time.
    pub(crate) key: String,
    pub(crate) hold: Hold,
    /// The description for a line of the log.
    pub(crate) text: String,
    /// The pod that waits, if one does.
    pub(crate) pod: Option<String>,
    /// The time since which the obstacle exists, as the cluster says, in seconds since 1970.
    pub(crate) since: Option<i64>,
    /// The repair that `--repair` may make.
    pub(crate) repair: Option<Repair>,
}

/// The time that an obstacle may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// An obstacle that does not go away by itself: only long enough to see that it stays.
    Fact,
    /// An obstacle that seldom goes away by itself: another client may be about to create what is missing.
    Likely,
    /// An obstacle that often goes away by itself: for the patience of the user, from when it was first seen.
    Transient,
    /// A container that ends again and again: longer than other transient obstacles, so that the back-offs between the
    /// restarts leave it the time for as many as the user allows.
    Crash,
    /// A transient obstacle whose patience runs from this second on.
    TransientSince(i64),
    /// An obstacle that may last until this second, but no shorter than if it were transient.
    Until(i64),
    /// A pod that is only slow.
    Slow,
}

/// A repair that `--repair` may make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Delete this pod, which is created again with the new revision.
    DeletePod(String),
    /// Make the controller try again now.
    Poke,
}

/// How much longer than other transient obstacles a crash may last. With the usual patience of five minutes, five
/// restarts take longer: the kubelet waits for 10, 20, 40, 80 and 160 seconds before them.
const CRASHES: i32 = 2;

/// The limits for obstacles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The time for facts.
    pub(crate) fact: SignedDuration,
    /// The time for obstacles that seldom go away.
    pub(crate) likely: SignedDuration,
    /// The time for obstacles that often go away.
    pub(crate) transient: SignedDuration,
    /// The number of restarts after which a container that goes on ending is a fact.
    pub(crate) restarts: i32,
}

impl Limits {
    /// Returns the limits that follow from the patience of the user.
    pub(crate) fn of(patience: SignedDuration, restarts: i32) -> Self {
        Limits {
            fact: SignedDuration::from_secs(10).min(patience),
            likely: SignedDuration::from_mins(1).min(patience),
            transient: patience,
            restarts,
        }
    }
}

/// The cluster, and the time at which it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) cluster: &'a Cluster,
    pub(crate) now: Timestamp,
    /// The time at which the wait began.
    pub(crate) begun: Timestamp,
    pub(crate) limits: Limits,
    /// Whether a set of which nothing is rolled out is done; see `Standing::of`.
    pub(crate) allow_none: bool,
}

impl<'a> View<'a> {
    /// Returns the cluster as the rules about status see it. Their patience does not matter to a wait.
    pub(crate) const fn audit(&self, context: Option<&'a str>) -> Audit<'a> {
        Audit {
            observed: self.observed,
            cluster: self.cluster,
            now: self.now,
            patience: SignedDuration::ZERO,
            context,
        }
    }
}

impl Obstacle {
    pub(crate) fn new(key: impl Into<String>, hold: Hold, text: impl Into<String>) -> Self {
        let (key, text) = (key.into(), text.into());
        Obstacle { key, hold, text, pod: None, since: None, repair: None }
    }

    /// Sets the pod of the obstacle, and the time since which it waits.
    pub(crate) fn of_pod(mut self, pod: &str, since: i64) -> Self {
        self.key = format!("{pod}: {}", self.key);
        self.pod = Some(pod.to_owned());
        self.since = Some(since);
        self
    }

    /// Returns whether the obstacle has lasted too long.
    pub(crate) fn has_lasted(&self, first: Timestamp, view: &View<'_>) -> bool {
        let for_long = |limit: SignedDuration| view.now.duration_since(first) >= limit;
        let limits = &view.limits;
        let now = view.now.as_second();
        match self.hold {
            Hold::Fact => for_long(limits.fact),
            Hold::Likely => for_long(limits.likely),
            Hold::Transient => for_long(limits.transient),
            Hold::Crash => for_long(limits.transient * CRASHES),
            Hold::TransientSince(since) => {
                for_long(limits.fact) && now.saturating_sub(since) >= limits.transient.as_secs()
            }
            Hold::Until(end) => now >= end && for_long(limits.transient),
            Hold::Slow => false,
        }
    }
}
