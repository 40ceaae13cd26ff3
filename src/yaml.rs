//! YAML as kubectl, kustomize and Helm read it, with the line of everything.
//!
//! Imports: finding.
//!
//! A document becomes a tree of [`Node`]s that know where they are in the text. The same tree is
//! turned into JSON for the engine, read into types (unknown fields are reported, not dropped), and
//! asked for the place of a field.
//!
//! Scalars mean what sigs.k8s.io/yaml says they mean (YAML 1.1: `yes` is true, `0777` is octal). A
//! document that begins with `{` is read as JSON first, as kubectl does.

pub(crate) mod de;
mod document;
mod json;
mod map;
mod node;
mod problem;
mod scalar;
mod stream;
mod to_json;
mod tree;

use serde::de::DeserializeOwned;

pub(crate) use self::to_json::Replacements;
pub use self::{
    document::Document,
    node::{Key, MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
    stream::{Documents, documents},
};

/// Reads all documents of a stream. One that cannot be read is an error; the others are still read.
/// Empty ones are passed over.
pub fn parse(text: &str) -> Vec<Result<Document<'_>, Problem>> {
    documents(text).collect()
}

/// Reads a stream of exactly one document into a type, strictly.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_one<T: DeserializeOwned>(text: &str) -> Result<(T, Node<'_>), Vec<Problem>> {
    let start = Mark { line: 1, column: 1, width: 0 };
    let mut all = documents(text);
    let Some(first) = all.next() else {
        return Err(vec![Problem::at(start, "there is nothing in it")]);
    };
    let Document { root, mut problems } = first.map_err(|problem| vec![problem])?;
    if let Some(second) = all.next() {
        let mark = second.map_or_else(|problem| problem.mark, |document| document.root.mark);
        problems.push(Problem::at(mark, "expected one document, and a second begins here"));
    }
    let read = de::read::<T>(&root);
    problems.extend(read.problems);
    match read.value {
        Some(value) if problems.is_empty() => Ok((value, root)),
        _ => Err(problems),
    }
}
