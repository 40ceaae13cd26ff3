//! Problems with a document.

use std::fmt;

use super::node::Mark;
use crate::finding::Field;

/// A problem with a document, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field; empty if there is none.
    pub field: Field,
    /// The position.
    pub mark: Mark,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Problem {
    /// A problem with the text at this position, not with a field.
    pub fn at(mark: Mark, message: impl Into<String>) -> Self {
        Problem { field: Field::default(), mark, message: message.into(), help: None }
    }
}

/// `line:column: field: message (help)`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.mark.line, self.mark.column)?;
        let field = self.field.to_string();
        if !field.is_empty() {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}
