//! The history of a set before the change whose rollout is recorded, and that change.

use kube::api::PropagationPolicy;
use serde_json::Value;

/// The finalizer of all pods: the test decides when a deleted pod ends.
pub(crate) const FINALIZER: &str = "setguard.io/e2e";

/// The label of all objects of a history, with its name as the value.
pub(crate) const LABEL: &str = "history";

#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) name: String,
    /// The object with a complete rollout at the start; `None` if the change creates it.
    pub(crate) first: Option<Value>,
    /// The events after the start. If there are any, the change begins mid-rollout, so the plan gets the pods, claims
    /// and revisions.
    pub(crate) acts: Vec<Act>,
    pub(crate) last: Value,
    /// Whether the set is deleted without its pods just before the change.
    pub(crate) is_orphaned: bool,
    /// The history's own nodes; empty for the shared nodes.
    pub(crate) nodes: Vec<Value>,
    /// The images that do not work before the change.
    pub(crate) broken: Vec<String>,
    /// Whether the test binds pods to a node before they are ready.
    pub(crate) binds: bool,
    /// The values of `--never-ready`, for after the change.
    pub(crate) never_ready: Vec<String>,
}

/// An event before the change. The numbers choose among the existing objects.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Change(Value),
    /// A change that the next event follows at once.
    Write(Value),
    /// The controller works for some rounds; in between, pods become available or end.
    Rounds(usize),
    /// The set is deleted without its pods, and created again as this object.
    Recreate(Value),
    /// A container of a pod crashes repeatedly.
    Break(usize),
    Unready(usize),
    /// The containers of a pod have terminated for good, with this phase.
    End(usize, &'static str),
    DeletePod(usize),
    Evict(usize),
    /// A container is resized, and its node has no room for that.
    Resize(usize),
    /// The API server refuses this operation of the controllers on the pods, until the last change.
    Refuse(&'static str),
    /// The set is deleted in this way, while a finalizer keeps it. The last event.
    Delete(PropagationPolicy),
    DeleteClaim(usize),
    /// A pod gets a label that the selector doesn't match.
    Relabel(usize),
    AddNode(Value),
    /// A node is removed, and its pods end.
    RemoveNode(usize),
    Taint(usize, Value),
    /// A node gets this value of the label `pool`.
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
