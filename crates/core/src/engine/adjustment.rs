//! The ladder of adjustments: all reasons for which something outside of a rule makes its finding less severe.
//!
//! They are applied in the order of the variants of [`Why`], by `Violation::lower`, which keeps the reason, so that each format
//! shows it. `api-validation` and `schema` are never lowered by a policy, an annotation or a comment. Only an exception of the
//! policy, the old object, a permit and a placeholder lower a denial.
//!
//! A finding that its own rule makes a note is one from the start, and has no reason here.

use std::fmt;

use crate::object::annotations::{EXCEED_ANNOTATION, IGNORE_ANNOTATION};

/// The reason of an adjustment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The policy has an exception, with this reason.
    Exception(String),
    /// The object's own annotation exempts it from a warning.
    Annotation,
    /// The old object already had this fault: existing objects stay editable.
    Ratchet,
    /// An annotation permits the change to exceed a limit: the limit, the last day, and the user if one is known.
    Permit(String),
    /// The place or the content of a file gives a reason why a warning is of no use: the sentence with the reason.
    Place(String),
    /// The manifest has this placeholder, so it is not what will be applied.
    Placeholder(String),
    /// A comment exempts the field from a warning.
    Comment {
        /// The line of the comment.
        line: usize,
        /// The reason in the comment; may be empty.
        reason: String,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Exception(reason) => write!(f, "exempted by the policy: {reason}"),
            Why::Annotation => write!(f, "exempted by the annotation {IGNORE_ANNOTATION}"),
            Why::Ratchet => write!(f, "not denied: the object had this fault already"),
            Why::Permit(text) => {
                write!(f, "permitted by the annotation {EXCEED_ANNOTATION}: {text}")
            }
            Why::Place(why) => write!(f, "not a warning: {why}"),
            Why::Placeholder(text) => {
                write!(f, "not denied: {text} seems to be replaced before this is applied")
            }
            Why::Comment { line, reason } => {
                let colon = if reason.is_empty() { "" } else { ": " };
                write!(f, "exempted by the comment in line {line}{colon}{reason}")
            }
        }
    }
}
