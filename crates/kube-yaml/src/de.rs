//! Reads a tree into a type, and collects all problems instead of stopping at the first.
//!
//! - An unknown field is a problem (with the nearest known name) and is left out.
//! - A scalar, list or mapping of the wrong type is a problem, and the type gets its zero value.
//! - A failure in the type's own code (an unknown word, a missing field) cannot be repaired on the
//!   spot. Such a failure is remembered, and the whole tree is read again without the value.
//!
//! So all problems are found, and the type needs no code for that. As in Kubernetes, null is equal
//! to absent, or to the zero value if the type requires a value.

mod access;
mod deserializer;
mod error;
pub mod progress;
mod reader;

use serde::de::DeserializeOwned;

use self::progress::{Fields, Inspect, Progress, Unknown};
use self::{error::Error, reader::Reader};
use super::{node::Node, problem::Problem, to_json::Replacements};

/// The maximum number of times that a tree is read.
const MAX_RUNS: usize = 50;

/// The result of reading.
pub struct Read<T> {
    /// The value, if there is one; not reliable if there are problems.
    pub(crate) value: Option<T>,
    /// The problems, in the order of the text.
    pub problems: Vec<Problem>,
    /// The JSON that replaces a node, by the address of the node.
    pub instead: Replacements,
}

/// Reads a tree into a type.
pub(crate) fn read<T: DeserializeOwned>(root: &Node<'_>) -> Read<T> {
    read_with(root, |_, _| Ok(None), Unknown::Found, Fields::OF_TYPES)
}

/// Reads a tree into a type whose newtypes are checked by `inspect`, and whose fields are those of the
/// Rust type except for `fields`.
pub fn read_with<T: DeserializeOwned>(
    root: &Node<'_>,
    inspect: Inspect,
    unknown: Unknown,
    fields: Fields<'_>,
) -> Read<T> {
    let progress = Progress { inspect, unknown, fields, ..Progress::default() };
    let mut value = None;
    for _ in 0..MAX_RUNS {
        progress.found.take();
        progress.instead.borrow_mut().clear();
        let reader = Reader { node: root, path: None, progress: &progress };
        match T::deserialize(reader) {
            Ok(read) => {
                value = Some(read);
                break;
            }
            // One more problem is known now, and the next run leaves out its value.
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
    let mut problems = progress.found.into_inner().into_problems();
    problems.extend(progress.broken.into_inner().into_values());
    problems
        .extend(progress.missing.into_inner().into_iter().filter_map(|missing| missing.problem));
    problems.sort_by_key(|problem| problem.mark);
    Read { value, problems, instead: progress.instead.into_inner() }
}
