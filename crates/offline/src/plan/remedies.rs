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

/// The revision to which a rollback has to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Undo {
    /// Nothing is known about revisions, so it is the one before the change.
    #[default]
    Before,
    /// The one with this number: the pods of the one before it do not work.
    To(i64),
    /// There is none.
    None,
}
