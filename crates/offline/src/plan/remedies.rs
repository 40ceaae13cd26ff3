//! The remedies for a rollout that stops, as far as they depend on the state of the cluster.

/// The command that helps if a rollout waits for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The template of the pod is given up.
    Undo,
    /// The pod is deleted: it comes back with the new template.
    Delete,
    /// The pod would come back as it is, so the reader has to look for the reason.
    Look,
}
