//! The commands by which a manifest reaches a cluster.

/// The command by which a manifest reaches the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Verb {
    /// `kubectl apply`: a three-way merge with what was applied last
    #[default]
    Apply,
    /// `kubectl apply --server-side`: a merge that removes what only this manager owned
    ServerSideApply,
    /// `kubectl replace`: the manifest and nothing else
    Replace,
}
