use std::fmt;

use super::node::{MAX_DEPTH, Mark};
use crate::Field;

/// A problem with a document, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field with the problem; empty for a problem with the text.
    pub field: Field,
    /// The position to show.
    pub mark: Mark,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl Problem {
    /// Creates a problem with the text rather than a field.
    pub fn at(mark: Mark, message: impl Into<String>) -> Self {
        Problem { field: Field::default(), mark, message: message.into(), help: None }
    }

    pub(super) fn not_yaml(mark: Mark, message: &str) -> Self {
        let mut problem = Problem::at(mark, format!("not YAML: {message}"));
        if message.contains("a tab") {
            problem.help = Some("YAML is indented with spaces, not with tabs".to_owned());
        }
        problem
    }

    pub(super) fn too_deep(mark: Mark) -> Self {
        Problem::at(mark, format!("nested deeper than {MAX_DEPTH} levels"))
    }
}

/// Writes `line:column: field: message (help)`.
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
