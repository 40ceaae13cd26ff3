//! The ladder of adjustments: every reason outside of a rule that makes its finding less severe.
//!
//! `Violation::lower` applies them in the order of the variants of [`Why`] and keeps the reasons for the output. A
//! policy, an annotation or a comment never lowers `api-validation` or `schema`. Only an exception in the policy, the
//! old object, a permit, a placeholder or a kustomization that completes the object lowers a denial.
//!
//! A finding that its own rule makes a note has no reason here.

use std::fmt;

use crate::object::annotations::{EXCEED_ANNOTATION, IGNORE_ANNOTATION};

/// Why a finding is less severe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The policy has an exception, with this reason.
    Exception(String),
    /// The object's own annotation exempts it from a warning.
    Annotation,
    /// The old object already had this fault: existing objects stay editable.
    Ratchet,
    /// An annotation permits the change to exceed a limit. Contains the limit, the last day, and the user if known.
    Permit(String),
    /// The place or content of the file makes a warning useless, for the reason in this sentence.
    Place(String),
    /// The manifest contains this placeholder, so it is not what will be applied.
    Placeholder(String),
    /// A kustomization gives the object its selector and labels. This text says which one.
    Completed(String),
    /// A comment exempts the field from a warning.
    Comment {
        /// The comment's line.
        line: usize,
        /// The reason in the comment, possibly empty.
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
            Why::Completed(why) => write!(f, "not denied: {why}"),
            Why::Comment { line, reason } => {
                let colon = if reason.is_empty() { "" } else { ": " };
                write!(f, "exempted by the comment in line {line}{colon}{reason}")
            }
        }
    }
}
