//! What becomes of findings: modes, ratcheting and exceptions turn them into a verdict.

use crate::finding::{Finding, Mode};

/// A finding, and how it is taken.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What was found.
    pub finding: Finding,
    /// How it is taken, after policy, ratcheting and exceptions.
    pub mode: Mode,
    /// Why it is taken less strictly than its rule's mode says.
    pub downgrade: Option<Downgrade>,
}

/// Why a finding is taken less strictly than its rule's mode says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Downgrade {
    /// The object had this fault before: existing objects stay editable.
    Ratcheted,
    /// The policy makes an exception, for this reason.
    Exception(String),
    /// The object's own annotation asks to be let off a warning.
    Annotation,
}

/// The verdict on one object.
#[must_use = "a verdict decides whether an object is let in"]
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// All findings that are not off, in the order of discovery.
    pub judged: Vec<Judged>,
    /// What the user should know of the policy itself, such as an exception that ran out.
    pub remarks: Vec<String>,
}

impl Verdict {
    /// Whether nothing is refused.
    pub fn allowed(&self) -> bool {
        self.denials().next().is_none()
    }

    /// What is refused.
    pub fn denials(&self) -> impl Iterator<Item = &Judged> {
        self.of(Mode::Deny)
    }

    /// What is shown, not refused.
    pub fn warnings(&self) -> impl Iterator<Item = &Judged> {
        self.of(Mode::Warn)
    }

    /// What is counted, not shown.
    pub fn audits(&self) -> impl Iterator<Item = &Judged> {
        self.of(Mode::Audit)
    }

    fn of(&self, mode: Mode) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter(move |judged| judged.mode == mode)
    }
}
