//! Reports the problems of a policy, with the lines of its file.

use std::io::Write as _;

use super::text;
use crate::report::prelude::*;
use crate::{
    manifests::{repository::Repository, source::Source},
    policy_file::args::{PolicyArgs, PolicyError},
    policy_file::discover::discover,
};

/// Loads the policy that the flags name. Prints the problems of an invalid policy and returns `None`. Fails if the
/// policy cannot be read, or the problems cannot be printed.
pub fn load(args: &PolicyArgs) -> anyhow::Result<Option<Policy>> {
    parse(args, read(args)?.as_ref())
}

/// Loads the policy that the flags name. Without one, loads the policy of the repository and prints its name, unless
/// `no_config` is set. Fails if the policy cannot be read, or the problems cannot be printed.
pub fn load_found(args: &PolicyArgs, no_config: bool) -> anyhow::Result<Option<Policy>> {
    if no_config || args.policy.is_some() {
        return load(args);
    }
    let found = discover(&Repository::find())?;
    if let Some(found) = &found {
        say(&found.display().to_string());
    }
    load(&PolicyArgs { policy: found, ..args.clone() })
}

/// Prints the name of the policy in use.
pub fn say(policy: &str) {
    let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "policy: {policy}");
}

/// Reads the policy file, if the flags name one. Fails if the file cannot be read.
pub fn read(args: &PolicyArgs) -> anyhow::Result<Option<Source>> {
    let name = args.policy.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    Ok(args.read()?.map(|text| Source::named(name, text)))
}

/// Parses a policy. Prints the problems of an invalid policy and returns `None`. Fails if the problems cannot be
/// printed.
pub fn parse(args: &PolicyArgs, source: Option<&Source>) -> anyhow::Result<Option<Policy>> {
    match (args.parse(source.map(Source::text)), source) {
        (Ok(policy), _) => Ok(Some(policy)),
        (Err(PolicyError::Wrong { problems, .. }), Some(source)) => {
            text::problems(source, &problems)?;
            Ok(None)
        }
        (Err(error), _) => Err(error.into()),
    }
}
