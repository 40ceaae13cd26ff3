//! What is wrong with a document.

use super::node::Mark;
use crate::finding::Field;

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

impl Problem {
    /// A problem of the text at this place, not of a field.
    pub fn at(mark: Mark, message: impl Into<String>) -> Self {
        Problem { field: Field::default(), mark, message: message.into(), help: None }
    }
}
