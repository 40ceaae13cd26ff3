//! The remedies for a stopped rollout that depend on the state of the cluster.

use setguard_core::rollout::Revision;

/// The command to use if a rollout waits for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Give up the pod's template.
    Undo,
    /// Delete the pod: the controller creates it with this template.
    Delete(Revision),
    /// Write the block `rollingUpdate`, then delete the pod: without the block it comes back with the old template.
    Complete,
    /// Find the cause: a new pod would be the same.
    Look,
}
