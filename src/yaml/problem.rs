//! What is wrong with a document.

use std::fmt;

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
