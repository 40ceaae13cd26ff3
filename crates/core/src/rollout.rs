//! A simulation of the DaemonSet and StatefulSet controllers, from the existing pods until the controller has nothing
//! left to do.
//!
//! Each step belongs to a *wave*. The steps of one wave do not wait for each other; a later wave waits until the pods
//! of the earlier one are available, or until the pods that it deletes have terminated. A replaced pod is created again
//! as soon as its predecessor has terminated, so a replacement alone begins no new wave. With `Recreate`, it does: all
//! new pods wait until all old ones have terminated.
//!
//! Only `minReadySeconds` takes time in a simulation, so the duration of a rollout is a lower bound.

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

words! {
    /// An action of the controller on a pod.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Action {
        /// Creates the pod.
        Create => "create",
        /// Deletes the pod.
        Delete => "delete",
    }
}

/// The pod that a step creates or deletes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The StatefulSet's pod with this ordinal.
    Ordinal(i64),
    /// The DaemonSet's pod on the node with this index.
    Node(usize),
    /// Pods of a DaemonSet on some of several nodes. The controller chooses at random.
    SomeNodes {
        /// The number of pods.
        count: usize,
        /// The indexes of the nodes to choose from. Some may have had their turn in an earlier wave.
        candidates: Rc<[usize]>,
    },
}

/// One action of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the wave, from 1.
    pub wave: usize,
    pub action: Action,
    pub target: Target,
    /// The template that the pod is made from.
    pub revision: Revision,
    /// The claims that are created or deleted with the pod.
    pub claims: Vec<String>,
}

/// The course of a whole rollout.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The steps in chronological order.
    pub steps: Vec<Step>,
    /// The number of waves.
    pub waves: usize,
    /// The shortest time in seconds until all pods are available.
    pub at_least_seconds: i64,
    /// The largest number of pods that are missing or unavailable at once, among pods that exist before and after, and
    /// pods that move.
    pub at_most_unavailable: usize,
    /// Whether, for a time, no pod of the set is available, although some were.
    pub takes_all_down: bool,
    /// Where the rollout stops before the end, if it does.
    pub stop: Option<Stop>,
    /// The claims that are created for pods of a StatefulSet that cannot use them, by ordinal.
    pub unused_claims: Vec<(i64, Vec<String>)>,
    /// The claims that are created because pods of a StatefulSet wait for them, by ordinal.
    pub missing_claims: Vec<(i64, Vec<String>)>,
    /// The claims that are deleted with pods of a StatefulSet that were already terminating, by ordinal.
    pub going: Vec<(i64, Vec<String>)>,
    /// The daemon pods that the rollout does not touch.
    pub kept_daemons: Vec<(Target, Revision)>,
    /// Whether the controller chooses some of the candidate nodes at random. This course is then one of several.
    pub depends_on_chance: bool,
}

/// Where a rollout stops before the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The pod that the controller waits for.
    pub target: Target,
    /// The other pods of a StatefulSet that use up what may be unavailable.
    pub others: Vec<i64>,
    pub why: Waits,
}

impl Stop {
    /// Creates a stop at one pod.
    pub const fn new(target: Target, why: Waits) -> Self {
        Stop { target, others: Vec::new(), why }
    }
}

/// Why the controller does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The controller touches no other pod until this one is available.
    ForThisPod,
    /// As many pods are unavailable as allowed, and this is one of them.
    Budget,
    /// The controller has handled all pods, but this one never becomes available.
    ForTheLast,
    /// The pod lacks the volume of a claim template. A pod's volumes cannot change, so each round of the controller
    /// fails.
    Volumes,
    /// A pod outside the set has this name, so each round of the controller fails to create the pod.
    Name,
    /// The node is down, so the pod on it neither ends nor becomes available.
    Node,
    /// The pod should have been gone, and has not ended.
    Deletion,
    /// The old pod holds a port of the node that the surge pod needs.
    Port,
    /// The controller makes the pod from the old template and deletes it, again and again.
    Endlessly,
}
