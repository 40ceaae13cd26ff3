//! Scalars without quotes.

use std::borrow::Cow;

use super::{Done, Kind, Scanner, Style, Token, breaks::Breaks};
use crate::{cursor::Cursor, problem::Problem};

impl<'a> Scanner<'a> {
    /// Upstream: `yaml_parser_scan_plain_scalar`.
    pub(super) fn plain(&mut self) -> Done {
        self.save_candidate()?;
        let start = self.cursor;
        let indent = self.indent.map_or(0, |indent| indent + 1);
        let is_flow = self.flow > 0;
        // The earlier lines, folded; `None` while the text is borrowed.
        let mut folded: Option<String> = None;
        let mut piece = start.at;
        let mut end = start;
        let mut breaks = Breaks::default();
        let mut is_new_line = false;
        while !self.cursor.is_marker(b'-')
            && !self.cursor.is_marker(b'.')
            && self.cursor.peek(0) != b'#'
        {
            let begin = self.cursor.at;
            let length = self
                .cursor
                .advance_to(&MAY_END, |cursor, byte, n| is_end_of_run(cursor, byte, n, is_flow));
            if length > 0 {
                if is_new_line {
                    let text = folded.get_or_insert_default();
                    text.push_str(end.text_since(piece));
                    breaks.fold_into(text);
                    piece = begin;
                    is_new_line = false;
                }
                end = self.cursor;
            }
            if !self.cursor.is_blank(0) && !self.cursor.is_break(0) {
                break;
            }
            is_new_line = self.space(indent, is_new_line, &mut breaks)?;
            if !is_flow && self.cursor.column < indent {
                break;
            }
        }
        let last = end.text_since(piece);
        let text = folded.map_or(Cow::Borrowed(last), |text| Cow::Owned(text + last));
        self.queue.push_back(Token {
            kind: Kind::Scalar(text, Style::Plain),
            mark: end.since(&start),
            bytes: start.at..end.at,
        });
        self.is_key_allowed |= is_new_line;
        Ok(())
    }

    /// Returns whether there was a line break, here or before.
    fn space(
        &mut self,
        indent: usize,
        mut is_new_line: bool,
        breaks: &mut Breaks,
    ) -> Result<bool, Problem> {
        loop {
            if self.cursor.is_break(0) {
                let text = self.cursor.take_break();
                if is_new_line {
                    breaks.others.push_str(text);
                } else {
                    breaks.first = text;
                    is_new_line = true;
                }
            } else if self.cursor.is_blank(0) {
                let is_tab = self.cursor.peek(0) == b'\t';
                if is_tab && is_new_line && self.cursor.column < indent {
                    return Err(self.error("a tab indents this line"));
                }
                self.cursor.advance(1);
            } else {
                return Ok(is_new_line);
            }
        }
    }
}

/// The bytes that can make [`is_end_of_run`] true; other bytes need no call.
const MAY_END: [bool; 256] = {
    let mut may_end = [false; 256];
    let mut all: &[u8] = b" \t\n\r\0:,?[]{}\xc2\xe2";
    while let [byte, rest @ ..] = all {
        may_end[*byte as usize] = true;
        all = rest;
    }
    may_end
};

/// Returns whether a run of text without spaces ends before this byte.
fn is_end_of_run(cursor: &Cursor<'_>, byte: u8, n: usize, is_flow: bool) -> bool {
    match byte {
        b' ' | b'\t' | b'\n' | b'\r' | 0 => true,
        b':' => cursor.is_space_or_end(n + 1),
        b',' | b'?' | b'[' | b']' | b'{' | b'}' => is_flow,
        0xc2 | 0xe2 => cursor.is_break(n),
        _ => false,
    }
}
