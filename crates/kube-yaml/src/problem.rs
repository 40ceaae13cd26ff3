//! Problems with a document.

use std::fmt;

use super::node::{MAX_DEPTH, Mark};
use crate::Field;

/// A problem with a document, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field that the problem is about; empty if it is about the text.
    pub field: Field,
    /// Where to point in the text.
    pub mark: Mark,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Problem {
    /// Creates a problem with the text, not with a field.
    pub fn at(mark: Mark, message: impl Into<String>) -> Self {
        Problem { field: Field::default(), mark, message: message.into(), help: None }
    }

    /// Creates the problem that the text is not YAML.
    pub(super) fn not_yaml(mark: Mark, message: &str) -> Self {
        let mut problem = Problem::at(mark, format!("not YAML: {message}"));
        if message.contains("a tab") {
            problem.help = Some("YAML is indented with spaces, not with tabs".to_owned());
        }
        problem
    }

    /// Creates the problem that the nesting is too deep.
    pub(super) fn too_deep(mark: Mark) -> Self {
        Problem::at(mark, format!("nested deeper than {MAX_DEPTH} levels"))
    }
}

/// Writes a problem as `line:column: field: message (help)`.
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
