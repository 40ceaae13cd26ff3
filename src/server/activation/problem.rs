//! The problems that keep the configurations from being armed.

use crate::server::managed::cluster::CallError;

/// The reason why the configurations are not armed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// A call of the API server failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A condition that the next rounds will probably find resolved.
    #[error("{0}")]
    NotYet(String),
    /// The API server does not call setguard, or its call fails.
    #[error("{0}")]
    NotCalled(String),
    /// The webhooks have their rules, but an API server does not call setguard by them.
    #[error("{0}")]
    NoLonger(String),
    /// One of two configurations does not exist.
    #[error(
        "{kind} {name} does not exist, although it was installed together with the other one: setguard is \
         not called by it; helm upgrade creates it again"
    )]
    Deleted { kind: &'static str, name: String },
    /// Neither of the configurations exists.
    #[error(
        "neither webhook configuration {0} exists, so setguard is not called: helm upgrade creates them"
    )]
    Absent(String),
}
