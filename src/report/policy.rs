//! Reports the problems of a policy, with the lines of its file.

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
/// When it cannot be read, or the problems cannot be printed.
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
