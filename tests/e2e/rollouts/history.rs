//! The history of a set before the change whose rollout is recorded, and that change.

use serde_json::Value;

/// The finalizer of all pods: a pod that is deleted is gone when the test says so.
pub(crate) const FINALIZER: &str = "setguard.io/e2e";

/// The label of all objects of a history, whose value is the name of the history.
pub(crate) const LABEL: &str = "history";

/// A history of a set, and the change at its end.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) name: String,
    /// The object whose rollout is complete when the history begins; `None` if the change creates it.
    pub(crate) first: Option<Value>,
    /// The events after that. If there are any, the change begins in the middle of something, so the plan
    /// gets the pods, claims and revisions.
    pub(crate) acts: Vec<Act>,
    pub(crate) last: Value,
    /// Whether the set is deleted without its pods just before the change.
    pub(crate) is_orphaned: bool,
    /// The nodes of the history's own; none if it uses the nodes that all share.
    pub(crate) nodes: Vec<Value>,
    /// The images of pods that do not work before the change.
    pub(crate) broken: Vec<String>,
    /// Whether pods are bound to a node before they are ready.
    pub(crate) binds: bool,
    /// The values of `--never-ready`, for after the change.
    pub(crate) never_ready: Vec<String>,
}

/// An event before the change. The numbers choose among what there is.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Change(Value),
    /// The controller works for some rounds, and pods become available and are gone in between.
    Rounds(usize),
    /// The set is deleted without its pods, and created again as this object.
    Recreate(Value),
    /// A container of a pod crashes again and again.
    Break(usize),
    Unready(usize),
    /// The containers of a pod have terminated for good, with this phase.
    End(usize, &'static str),
    DeletePod(usize),
    DeleteClaim(usize),
    /// A pod gets another label, so that the selector doesn't match it any more.
    Relabel(usize),
    AddNode(Value),
    /// A node is removed, and its pods are gone.
    RemoveNode(usize),
    Taint(usize, Value),
    /// A node gets this label `pool`.
    Move(usize, &'static str),
}

impl History {
    /// Returns whether pods are ready for a while before they are available.
    pub(crate) fn is_slow(&self) -> bool {
        self.last["spec"]["minReadySeconds"].as_i64().is_some_and(|it| it > 0)
    }

    pub(crate) fn is_stateful(&self) -> bool {
        self.last["kind"] == "StatefulSet"
    }
}
