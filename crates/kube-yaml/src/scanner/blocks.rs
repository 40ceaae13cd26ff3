//! Mappings and lists: in blocks, delimited by columns, and in brackets.

use super::{Done, Kind, Scanner, candidate::Candidate};
use crate::{cursor::Cursor, node::MAX_DEPTH, problem::Problem};

impl<'a> Scanner<'a> {
    pub(super) fn block_entry(&mut self) -> Done {
        if self.flow == 0 {
            if !self.is_key_allowed {
                return Err(self.error("a list item cannot begin here"));
            }
            self.open_block(None, Kind::BlockList, self.cursor)?;
        }
        self.forget_candidate(true)?;
        self.push_sign(Kind::BlockEntry, 1);
        Ok(())
    }

    /// Handles a `?`.
    pub(super) fn explicit_key(&mut self) -> Done {
        if self.flow == 0 {
            if !self.is_key_allowed {
                return Err(self.error("a key cannot begin here"));
            }
            self.open_block(None, Kind::BlockMapping, self.cursor)?;
        }
        self.forget_candidate(self.flow == 0)?;
        self.push_sign(Kind::Key, 1);
        Ok(())
    }

    /// Handles a `:`. It makes the candidate a key.
    pub(super) fn value(&mut self) -> Done {
        let cursor = self.cursor;
        let mut key = None;
        if let Some(last) = self.candidates.last_mut()
            && last.is_still_possible(&cursor)?
        {
            key = Some(*last);
            last.is_possible = false;
            last.is_awaited = false;
        }
        if let Some(Candidate { token, start, .. }) = key {
            self.insert(Some(token), Kind::Key, start);
            self.open_block(Some(token), Kind::BlockMapping, start)?;
            self.is_key_allowed = false;
        } else {
            if self.flow == 0 {
                if !self.is_key_allowed {
                    let mut problem = self.error("a key and a value are not allowed here");
                    let help = "quote text that contains \": \", and start all keys of a mapping \
                                in one column";
                    problem.help = Some(help.to_owned());
                    return Err(problem);
                }
                self.open_block(None, Kind::BlockMapping, self.cursor)?;
            }
            self.is_key_allowed = self.flow == 0;
        }
        self.push_sign(Kind::Value, 1);
        Ok(())
    }

    /// Opens a block at this column unless it is open. `token` is the number of its first token, if queued.
    fn open_block(&mut self, token: Option<usize>, kind: Kind<'a>, start: Cursor<'a>) -> Done {
        if self.flow == 0 && self.indent < Some(start.column) {
            self.outer.push(self.indent);
            self.indent = Some(start.column);
            self.check_depth(self.outer.len())?;
            self.insert(token, kind, start);
        }
        Ok(())
    }

    /// Closes the blocks to the right of this column; `None` closes all.
    pub(super) fn close_blocks(&mut self, column: Option<usize>) {
        while self.flow == 0 && self.indent > column {
            self.push(Kind::BlockEnd, self.cursor);
            self.indent = self.outer.pop().unwrap_or_default();
        }
    }

    pub(super) fn check_depth(&self, depth: usize) -> Done {
        // Only bounds the memory; the tree enforces the exact limit.
        if depth > MAX_DEPTH + 1 { Err(Problem::too_deep(self.cursor.mark())) } else { Ok(()) }
    }

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
        self.forget_candidate(false)?;
        if self.flow > 0
            && let Some(closed) = self.candidates.pop()
        {
            self.flow -= 1;
            // Otherwise an empty bracket at the start of a line could become a key.
            for candidate in &mut self.candidates {
                candidate.is_awaited &= candidate.token != closed.token;
            }
        }
        self.push_sign(kind, 1);
        Ok(())
    }
}
