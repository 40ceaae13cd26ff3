//! Mappings and lists in brackets.

use super::{Done, Kind, Scanner};

impl<'a> Scanner<'a> {
    pub(super) fn open_flow(&mut self, kind: Kind<'a>) -> Done {
        self.save_candidate()?;
        let none = self.candidate(false, false);
        self.candidates.push(none);
        self.flow += 1;
        self.check_depth(self.flow)?;
        self.is_key_allowed = true;
        self.push_sign(kind, 1);
        Ok(())
    }

    pub(super) fn close_flow(&mut self, kind: Kind<'a>) -> Done {
        self.forget_candidate()?;
        if self.flow > 0
            && let Some(closed) = self.candidates.pop()
        {
            self.flow -= 1;
            // Otherwise an empty bracket at the start of a line could become a key.
            for candidate in &mut self.candidates {
                candidate.is_awaited &= candidate.token != closed.token;
            }
        }
        self.is_key_allowed = false;
        self.push_sign(kind, 1);
        Ok(())
    }
}
