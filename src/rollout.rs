//! What the controllers of DaemonSets and StatefulSets will do: a simulation of both.
//!
//! A simulation begins with the pods that exist and ends when the controller has nothing left to do.
//! Each step belongs to a *wave*. The steps of one wave do not wait for each other; a later wave
//! waits until the pods of the earlier one are available, or until the pods that it deletes are
//! gone. A pod that is deleted to be replaced is created again as soon as it is gone, so this
//! alone begins no new wave. With `Recreate` all new pods wait until all old ones are gone, so there
//! it does.
//!
//! Everything that takes time takes none here, except `minReadySeconds`: the duration of a rollout
//! is a lower bound.

pub mod daemon_set;
pub mod node;
pub mod stateful_set;
mod timeline;

use std::rc::Rc;

/// The template that a pod was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// An earlier template.
    Old,
    /// The template of the new object.
    New,
}

impl Revision {
    /// As in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Revision::Old => "old",
            Revision::New => "new",
        }
    }
}

/// How a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It has been ready for long enough to be available.
    Available,
    /// It has been ready since this time, in seconds, but not for long enough.
    Ready(i64),
    /// It becomes ready soon.
    Starting,
    /// It never becomes ready.
    Broken,
    /// All its containers have ended for good: its phase is `Failed` or `Succeeded`.
    Ended,
}

/// Which new pods never become ready.
#[derive(Clone, Debug, Default)]
pub struct NeverReady {
    /// All of the new revision.
    pub all_new: bool,
    /// The pods of a StatefulSet with these ordinals.
    pub ordinals: Vec<i64>,
}

/// What is done with a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is created.
    Create,
    /// It is deleted.
    Delete,
}

impl Action {
    /// As in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Delete => "delete",
        }
    }
}

/// The pod that a step is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The pod of a StatefulSet with this ordinal.
    Ordinal(i64),
    /// The pod of a DaemonSet on the node with this index.
    Node(usize),
    /// Pods of a DaemonSet on some of several nodes: the controller chooses at random.
    SomeNodes {
        /// How many.
        count: usize,
        /// The indexes of the nodes among which it chooses. Some of them may have had their turn in
        /// an earlier wave.
        candidates: Rc<[usize]>,
    },
}

/// One thing that the controller does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Counted from 1.
    pub wave: usize,
    /// What is done.
    pub action: Action,
    /// With which pod.
    pub target: Target,
    /// The template of the pod.
    pub revision: Revision,
    /// The claims that are created or deleted with it.
    pub claims: Vec<String>,
}

/// Everything that the controller does.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// In the order in which it is done.
    pub steps: Vec<Step>,
    /// How many waves there are.
    pub waves: usize,
    /// How long it takes at least, in seconds, until all pods are available.
    pub at_least_seconds: i64,
    /// The largest number of pods that are missing or unavailable at one time, of those that exist
    /// before and after.
    pub at_most_unavailable: usize,
    /// Where it stops before the end, if it does.
    pub stop: Option<Stop>,
    /// Whether the waves depend on a random choice: among the nodes from which the controller
    /// chooses, only some get a new pod. This is then one course of several.
    pub depends_on_chance: bool,
}

/// Where a rollout stops before the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The pod for which the controller waits.
    pub target: Target,
    /// Why it waits.
    pub why: Waits,
}

/// Why the controller does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It touches no other pod until this one is available.
    ForThisPod,
    /// As many pods are unavailable as may be at one time, and this is one of them.
    Budget,
    /// It has touched all pods, but this one never becomes available.
    ForTheLast,
}
