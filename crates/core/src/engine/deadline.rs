//! Deadlines of evaluations.

use std::fmt;

/// When an evaluation must end for the caller to answer in time. The engine itself reads no clock.
#[derive(Clone, Copy)]
pub struct Deadline<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl<'a> Deadline<'a> {
    /// No deadline.
    pub const NONE: Deadline<'static> = Deadline(None);

    /// Creates a deadline that has passed once the function returns true.
    pub const fn passed_when(has_passed: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Deadline(Some(has_passed))
    }

    pub(super) fn has_passed(self) -> bool {
        self.0.is_some_and(|has_passed| has_passed())
    }
}

impl fmt::Debug for Deadline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Deadline" } else { "no deadline" })
    }
}
