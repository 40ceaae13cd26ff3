//! YAML as Kubernetes' tools read it, with the line of everything.
//!
//! A document becomes a tree of [`Node`]s that know where they stand. The same tree is turned into
//! JSON for the engine, read into types (with unknown fields reported, not dropped), and asked for
//! the place of a [`Field`].

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::field::Field;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Line, from 1 on.
    pub line: usize,
    /// Column in characters, from 1 on.
    pub column: usize,
}

/// Something that is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as far as there is one.
    pub field: Field,
    /// Where it stands.
    pub mark: Mark,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// What it is.
    pub value: Value<'a>,
    /// Where it begins.
    pub mark: Mark,
}

/// A key of a mapping, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The key, as text.
    pub name: Cow<'a, str>,
    /// Where it begins.
    pub mark: Mark,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond `i64`.
    UInt(u64),
    /// Any other number.
    Float(f64),
    /// Text.
    Str(Cow<'a, str>),
    /// A list.
    Seq(Vec<Node<'a>>),
    /// A mapping, in the order of the text.
    Map(Vec<(Key<'a>, Node<'a>)>),
}

/// One document of a stream.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Its root.
    pub root: Node<'a>,
    /// What is wrong with it although it could be read, such as a duplicate key.
    pub problems: Vec<Problem>,
}

/// Reads all documents of a stream. One that cannot be read is an error; the others are still read.
pub fn parse(text: &str) -> Vec<Result<Document<'_>, Problem>> {
    let _ = text;
    Vec::new()
}

/// Reads a stream of exactly one document into a type, strictly.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_one<T: DeserializeOwned>(text: &str) -> Result<(T, Node<'_>), Vec<Problem>> {
    let _ = text;
    Err(Vec::new())
}

impl<'a> Node<'a> {
    /// The value of a key of this mapping.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        match &self.value {
            Value::Map(entries) => {
                entries.iter().rev().find(|(k, _)| k.name == key).map(|(_, node)| node)
            }
            _ => None,
        }
    }

    /// Where a field stands, or its nearest parent that exists.
    pub fn locate(&self, field: &Field) -> Mark {
        let _ = field;
        self.mark
    }
}
