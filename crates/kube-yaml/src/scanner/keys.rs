use super::{Done, Scanner, candidate::Candidate};

impl Scanner<'_> {
    pub(super) fn candidate(&self, is_possible: bool, is_required: bool) -> Candidate {
        Candidate {
            is_possible,
            is_required,
            is_awaited: is_possible,
            token: self.taken + self.queue.len(),
            row: self.cursor.row(),
            index: self.cursor.index(),
            column: self.cursor.column(),
            mark: self.cursor.mark(),
        }
    }

    pub(super) fn save_candidate(&mut self) -> Done {
        if self.is_key_allowed {
            self.forget_candidate()?;
            let is_required = self.flow == 0 && self.indent == Some(self.cursor.column());
            let candidate = self.candidate(true, is_required);
            if let Some(last) = self.candidates.last_mut() {
                *last = candidate;
            }
        }
        Ok(())
    }

    pub(super) fn forget_candidate(&mut self) -> Done {
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
