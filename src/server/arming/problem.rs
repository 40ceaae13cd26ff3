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
    /// Neither of the configurations exists.
    #[error(
        "neither webhook configuration {0} exists, so setguard is not called: helm upgrade creates them"
    )]
    Absent(String),
    /// The annotation cannot be read.
    #[error("{0}")]
    Annotation(String),
}
