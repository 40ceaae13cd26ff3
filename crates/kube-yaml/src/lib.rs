//! YAML as kubectl reads it, with the position of every value.
//!
//! Each document becomes a tree of [`Node`]s that know their position in the text. You can write the tree as JSON, find
//! the position of a field, and read the tree into Rust types, with unknown fields reported instead of dropped.
//!
//! The crate has its own scanner because other Rust parsers follow YAML 1.2 or a later libyaml, and so accept and
//! reject different texts than kubectl. Scalars have the values that sigs.k8s.io/yaml gives them (YAML 1.1: `yes` is
//! true, `0777` is octal). A stream that begins with `{` is read as JSON first.

#![warn(missing_docs)]

mod comment;
mod cursor;
pub mod de;
mod document;
mod field;
mod json;
mod map;
mod node;
mod of_json;
mod problem;
mod scalar;
mod scanner;
mod spans;
mod stream;
mod suggest;
mod to_json;
mod tree;

use serde::de::DeserializeOwned;

pub use self::{
    comment::Comment,
    document::Document,
    field::{Field, Path, Step},
    node::{Key, MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
    scanner::Kind,
    spans::{Span, spans},
    stream::{Documents, documents, documents_after},
    suggest::nearest_of,
    to_json::Replacements,
};

/// Reads all documents of a stream, except empty ones. A document that cannot be read becomes an error, and reading
/// continues with the next.
pub fn parse(text: &str) -> Vec<Result<Document<'_>, Problem>> {
    documents(text).collect()
}

/// Reads a stream with exactly one document into a type, strictly. The error is all problems of the stream.
pub fn read_one<T: DeserializeOwned>(text: &str) -> Result<(T, Node<'_>), Vec<Problem>> {
    let start = Mark { line: 1, column: 1, width: 0 };
    let mut all = documents(text);
    let Some(first) = all.next() else {
        return Err(vec![Problem::at(start, "expected one document, found none")]);
    };
    let Document { root, mut problems, .. } = first.map_err(|problem| vec![problem])?;
    if let Some(second) = all.next() {
        let mark = second.map_or_else(|problem| problem.mark, |document| document.root.mark);
        problems.push(Problem::at(mark, "expected one document, but a second begins here"));
    }
    let read = de::read::<T>(&root);
    problems.extend(read.problems);
    match read.value {
        Some(value) if problems.is_empty() => Ok((value, root)),
        _ => Err(problems),
    }
}
