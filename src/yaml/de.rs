//! Reads a tree into a type, and gathers what does not fit instead of stopping at it.
//!
//! - An unknown field is a problem (with the nearest known name) and is left out.
//! - A scalar, list or mapping of the wrong type is a problem, and the type gets its zero value.
//! - What fails in the type's own code (a wrong word, a missing field) cannot be replaced on the
//!   spot. It is remembered and the whole tree is read again without it.
//!
//! So all problems are found, and the type needs to know nothing of that. As for Kubernetes, null
//! is the same as absent, and the zero value where something must be.

mod access;
mod deserializer;
mod error;
pub(crate) mod progress;
mod reader;

use serde::de::DeserializeOwned;

use self::progress::{Inspect, Progress, Unknown};
use self::{error::Error, reader::Reader};
use super::{node::Node, problem::Problem, to_json::Replacements};

/// How often a tree is read again before the rest is given up.
const MAX_RUNS: usize = 50;

/// What came of reading.
pub(crate) struct Read<T> {
    /// The value, if there is one; not to be trusted while there are problems.
    pub(crate) value: Option<T>,
    /// What is wrong, in the order of the text.
    pub(crate) problems: Vec<Problem>,
    /// By the address of a node: the JSON that its type takes instead of it.
    pub(crate) instead: Replacements,
}

/// Reads a tree into a type.
pub(crate) fn read<T: DeserializeOwned>(root: &Node<'_>) -> Read<T> {
    read_with(root, |_, _| Ok(None), Unknown::Found)
}

/// Reads a tree into a type whose newtypes have rules of their own.
pub(crate) fn read_with<T: DeserializeOwned>(
    root: &Node<'_>,
    inspect: Inspect,
    unknown: Unknown,
) -> Read<T> {
    let progress = Progress { inspect, unknown, ..Progress::default() };
    let mut value = None;
    for _ in 0..MAX_RUNS {
        progress.found.borrow_mut().clear();
        progress.instead.borrow_mut().clear();
        let reader = Reader { node: root, path: None, progress: &progress };
        match T::deserialize(reader) {
            Ok(read) => {
                value = Some(read);
                break;
            }
            // One more obstacle is known now.
            Err(Error::Again) => {}
            Err(Error::Other(message)) => {
                reader.problem(message, None);
                break;
            }
            Err(Error::Missing(name)) => {
                reader.missing(name);
                if progress.gave_up.get() {
                    break;
                }
            }
        }
    }
    let mut problems = progress.found.into_inner();
    problems.extend(progress.broken.into_inner().into_values());
    problems
        .extend(progress.missing.into_inner().into_iter().filter_map(|missing| missing.problem));
    problems.sort_by_key(|problem| problem.mark);
    Read { value, problems, instead: progress.instead.into_inner() }
}
