//! Reads a tree into a type, and collects all problems instead of stopping at the first.
//!
//! - An unknown field is a problem (with the nearest known name) and is left out.
//! - A scalar, list or mapping of the wrong type is a problem, and the type gets its zero value.
//! - If the type's own code fails (an unknown word, a missing field), the whole tree is read again without the value.
//!
//! Types need no code for this. As in Kubernetes, null means absent, or the zero value if the type requires a value.

mod access;
mod deserializer;
mod error;
pub mod progress;
mod reader;

use std::cell::{Cell, RefCell};

use serde::de::DeserializeOwned;

use self::progress::{Fields, Inspect, Progress, Unknown};
use self::{error::Error, reader::Reader};
use super::{node::Node, problem::Problem, to_json::Replacements};

const MAX_RUNS: usize = 50;

/// A value from a tree, and the problems found on the way.
pub struct Read<T> {
    /// Not reliable if there are problems.
    pub(crate) value: Option<T>,
    /// The problems, in the order of the text.
    pub problems: Vec<Problem>,
    /// JSON for the nodes that were replaced, such as zero values for nodes of the wrong type.
    pub instead: Replacements,
}

pub(crate) fn read<T: DeserializeOwned>(root: &Node<'_>) -> Read<T> {
    read_with(root, |_, _| Ok(None), Unknown::Found, Fields::OF_TYPES)
}

/// Reads a tree into a type. `inspect` checks its newtypes; `fields` has the differences from its Rust fields.
pub fn read_with<T: DeserializeOwned>(
    root: &Node<'_>,
    inspect: Inspect,
    unknown: Unknown,
    fields: Fields<'_>,
) -> Read<T> {
    let progress = Progress {
        inspect,
        unknown,
        fields,
        found: RefCell::default(),
        instead: RefCell::default(),
        broken: RefCell::default(),
        missing: RefCell::default(),
        gave_up: Cell::default(),
    };
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
            // A run ends at a problem and records it; the next run skips that value.
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
    let (problems, instead) = progress.into_found();
    Read { value, problems, instead }
}
