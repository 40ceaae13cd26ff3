use super::{Done, Scanner};
use crate::{cursor::Cursor, problem::Problem};

/// The maximum number of characters between the start of a key and its `:`, as in libyaml.
const MAX_KEY: usize = 1024;

/// A token that becomes a key if a `:` follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) is_possible: bool,
    /// Whether only a key is valid here.
    pub(super) is_required: bool,
    /// Whether the queue waits for the decision about this candidate.
    pub(super) is_awaited: bool,
    /// The number of its first token in the document.
    pub(super) token: usize,
    pub(super) start: Cursor<'a>,
}

impl Candidate<'_> {
    /// Returns whether a `:` at the cursor would make the candidate a key.
    pub(super) fn is_still_possible(&mut self, cursor: &Cursor<'_>) -> Result<bool, Problem> {
        let is_far = self.start.row < cursor.row || self.start.index + MAX_KEY < cursor.index;
        if self.is_possible && is_far {
            if self.is_required {
                return Err(self.no_key());
            }
            self.is_possible = false;
        }
        Ok(self.is_possible)
    }

    pub(super) fn no_key(&self) -> Problem {
        let mut problem = self.start.error("expected a key here, followed by \": \"");
        let line = self.start.rest().lines().next().unwrap_or_default();
        let lacks_space = line.split_once(':').is_some_and(|(key, _)| !key.contains(' '));
        let help = match lacks_space {
            true => "write a space after the colon",
            false => "indent a value that continues on the next line",
        };
        problem.help = Some(help.to_owned());
        problem
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn candidate(&self, is_possible: bool, is_required: bool) -> Candidate<'a> {
        Candidate {
            is_possible,
            is_required,
            is_awaited: is_possible,
            token: self.taken + self.queue.len(),
            start: self.cursor,
        }
    }

    /// A value begins here. No key is allowed after it on this line, other than the value itself.
    pub(super) fn save_candidate(&mut self) -> Done {
        if self.is_key_allowed {
            self.forget_candidate(false)?;
            let is_required = self.flow == 0 && self.indent == Some(self.cursor.column);
            let candidate = self.candidate(true, is_required);
            if let Some(last) = self.candidates.last_mut() {
                *last = candidate;
            }
        }
        Ok(())
    }

    pub(super) fn forget_candidate(&mut self, is_key_allowed: bool) -> Done {
        self.is_key_allowed = is_key_allowed;
        match self.candidates.last_mut() {
            Some(last) if last.is_possible => {
                last.is_possible = false;
                last.is_awaited = false;
                if last.is_required { Err(last.no_key()) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}
