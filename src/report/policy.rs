//! Reports the problems of a policy, with the lines of its file, and what a policy weakens.

use std::fmt;

use serde::Serialize;

use super::text;
use crate::{
    manifests::source::Source,
    policy::{
        Policy,
        args::{PolicyArgs, PolicyError},
    },
};

/// Loads the policy that the flags specify. If it is invalid, prints the problems and returns
/// `None`.
///
/// # Errors
/// Returns an error if it cannot be read, or the problems cannot be printed.
pub(crate) fn load(args: &PolicyArgs) -> anyhow::Result<Option<Policy>> {
    match args.load() {
        Ok(policy) => Ok(Some(policy)),
        Err(PolicyError::Wrong { path, text, problems }) => {
            let name = path.display().to_string();
            let source = Source::of(name, text, true);
            text::problems(&source, &problems)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The policy file of a run, and what it weakens.
#[derive(Debug, Serialize)]
pub(super) struct PolicyUse {
    file: String,
    /// The ids of the rules whose modes are below their defaults.
    weakened: Vec<&'static str>,
    /// How many exceptions it has, expired or not.
    exceptions: usize,
}

impl PolicyUse {
    /// `None` without a policy file.
    pub(super) fn of(policy: &Policy) -> Option<Self> {
        let (file, weakened) = (policy.file.clone()?, policy.weakened());
        Some(PolicyUse { file, weakened, exceptions: policy.exceptions.len() })
    }

    /// Returns whether less is reported than without the policy.
    pub(super) fn weakens(&self) -> bool {
        !self.weakened.is_empty() || self.exceptions > 0
    }
}

impl fmt::Display for PolicyUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PolicyUse { file, weakened, exceptions } = self;
        write!(f, "policy {file}: rules weakened: {}, exceptions: {exceptions}", weakened.len())
    }
}
