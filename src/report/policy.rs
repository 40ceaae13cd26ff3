//! What is wrong with a policy, with the lines of its file.

use std::cell::OnceCell;

use super::text;
use crate::{
    manifests::source::Source,
    policy::{
        Policy,
        args::{PolicyArgs, PolicyError},
    },
};

/// The policy that the flags ask for. `None` when it is wrong, which the user has been told by then.
///
/// # Errors
/// When it cannot be read, or the user cannot be told.
pub(crate) fn load(args: &PolicyArgs) -> anyhow::Result<Option<Policy>> {
    match args.load() {
        Ok(policy) => Ok(Some(policy)),
        Err(PolicyError::Wrong { path, text, problems }) => {
            let name = path.display().to_string();
            text::problems(&Source::Text { name, text, lines: OnceCell::new() }, &problems)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
