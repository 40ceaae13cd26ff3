//! A simulation of the controllers of DaemonSets and StatefulSets.
//!
//! A simulation begins with the pods that exist and ends when the controller has nothing left to do.
//! Each step belongs to a *wave*. The steps of one wave do not wait for each other; a later wave
//! waits until the pods of the earlier one are available, or until the pods that it deletes are
//! gone. A pod that is deleted to be replaced is created again as soon as it is gone, so this
//! alone begins no new wave. With `Recreate` all new pods wait until all old ones are gone, so there
//! it does.
//!
//! Only `minReadySeconds` takes time in a simulation, so the duration of a rollout is a lower
//! bound.

mod clock;
pub mod daemon_set;
pub mod node;
mod pod;
pub mod stateful_set;
#[cfg(test)]
mod testing;
pub mod undo;
mod waves;

use std::rc::Rc;

pub use self::pod::{Health, NeverReady, Revision};

/// An action on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The pod is created.
    Create,
    /// The pod is deleted.
    Delete,
}

impl Action {
    /// Returns the name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Delete => "delete",
        }
    }
}

/// The pod that a step is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The pod of a StatefulSet with this ordinal.
    Ordinal(i64),
    /// The pod of a DaemonSet on the node with this index.
    Node(usize),
    /// Pods of a DaemonSet on some of several nodes, chosen at random by the controller.
    SomeNodes {
        /// The number of pods.
        count: usize,
        /// The indexes of the nodes to choose from. Some of them may have had their turn in an
        /// earlier wave.
        candidates: Rc<[usize]>,
    },
}

/// One action of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the wave, from 1.
    pub wave: usize,
    /// The action on the pod.
    pub action: Action,
    /// The pod.
    pub target: Target,
    /// The template of the pod.
    pub revision: Revision,
    /// The claims that are created or deleted with the pod.
    pub claims: Vec<String>,
}

/// The whole course of a rollout.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The steps in chronological order.
    pub steps: Vec<Step>,
    /// The number of waves.
    pub waves: usize,
    /// The least time, in seconds, until all pods are available.
    pub at_least_seconds: i64,
    /// The largest number of pods that are missing or unavailable at one time, counting pods that
    /// exist before and after, and pods that move.
    pub at_most_unavailable: usize,
    /// The point at which the rollout stops before the end, if it does.
    pub stop: Option<Stop>,
    /// The claims that are created for pods of a StatefulSet that cannot use them, by ordinal.
    pub unused_claims: Vec<(i64, Vec<String>)>,
    /// The claims that are created for pods of a StatefulSet that wait for them, by ordinal.
    pub missing_claims: Vec<(i64, Vec<String>)>,
    /// The claims that are deleted with pods of a StatefulSet that were being deleted already, by ordinal.
    pub going: Vec<(i64, Vec<String>)>,
    /// The daemons that are left alone.
    pub kept_daemons: Vec<(Target, Revision)>,
    /// Whether the waves depend on a random choice: only some of the nodes from which the
    /// controller chooses get a new pod. This course is then one of several.
    pub depends_on_chance: bool,
}

/// The point at which a rollout stops before the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The pod for which the controller waits.
    pub target: Target,
    /// The reason for waiting.
    pub why: Waits,
}

/// The reason why the controller does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The controller touches no other pod until this one is available.
    ForThisPod,
    /// As many pods are unavailable as allowed at one time, and this is one of them.
    Budget,
    /// The controller has touched all pods, but this one never becomes available.
    ForTheLast,
    /// The pod lacks the volume of a claim template. Volumes of pods cannot be changed, and each
    /// round of the controller ends with the attempt.
    Volumes,
    /// A pod that doesn't belong to the set has this name, and each round of the controller ends with
    /// the attempt to create it.
    Name,
}
