//! Block scalars: `|` and `>`.

use std::borrow::Cow;

use super::{Done, Kind, Scanner, Style, Token};
use crate::{cursor::Cursor, problem::Problem};

impl Scanner<'_> {
    /// Upstream: `yaml_parser_scan_block_scalar`.
    pub(super) fn block_scalar(&mut self, is_literal: bool) -> Done {
        let start = self.cursor;
        let (keep, strip, digit) = self.header()?;
        let header = self.cursor.since(&start);
        if !self.cursor.is_break_or_end(0) {
            return Err(self.error("the text after | or > must start on a new line"));
        }
        if self.cursor.is_break(0) {
            self.cursor.take_break();
        }

        let mut indent = digit.map(|digit| self.indent.unwrap_or(0) + digit);
        let mut text = String::new();
        let mut leading = "";
        let mut was_blank = false;
        let mut trailing = String::new();
        self.empty_lines(&mut indent, &mut trailing, &start)?;
        while indent == Some(self.cursor.column) && !self.cursor.is_end() {
            let is_blank = self.cursor.is_blank(0);
            if !is_literal && !was_blank && !is_blank && leading == "\n" {
                if trailing.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(leading);
            }
            text.push_str(&trailing);
            trailing.clear();
            was_blank = is_blank;
            let line = self.cursor.at;
            self.cursor.advance_while(|cursor, _, n| !cursor.is_break_or_end(n));
            text.push_str(self.cursor.text_since(line));
            leading = if self.cursor.is_break(0) { self.cursor.take_break() } else { "" };
            self.empty_lines(&mut indent, &mut trailing, &start)?;
        }
        if !strip {
            text.push_str(leading);
        }
        if keep {
            text.push_str(&trailing);
        }
        let bytes = start.at..self.cursor.at;
        let kind = Kind::Scalar(Cow::Owned(text), Style::Text);
        self.queue.push_back(Token { kind, mark: header, bytes });
        Ok(())
    }

    /// Reads the signs after `|` or `>`: whether line breaks at the end stay, or all go, and the explicit indentation.
    fn header(&mut self) -> Result<(bool, bool, Option<usize>), Problem> {
        let start = self.cursor;
        self.cursor.advance(1);
        let (mut keep, mut strip, mut digit) = (false, false, None);
        // The sign and the digit may come in any order, each at most once.
        for _ in 0..2 {
            match self.cursor.peek(0) {
                c @ (b'+' | b'-') if !keep && !strip => {
                    (keep, strip) = (c == b'+', c == b'-');
                    self.cursor.advance(1);
                }
                b'0' if digit.is_none() => {
                    return Err(start.error("the indentation after | or > must be 1 to 9"));
                }
                c @ b'1'..=b'9' if digit.is_none() => {
                    digit = Some(usize::from(c - b'0'));
                    self.cursor.advance(1);
                }
                _ => break,
            }
        }
        self.cursor.skip_blanks();
        self.comment();
        Ok((keep, strip, digit))
    }

    /// Reads empty lines and the indentation of the next line. That indentation becomes the scalar's if `indent` is
    /// `None`.
    fn empty_lines(
        &mut self,
        indent: &mut Option<usize>,
        breaks: &mut String,
        start: &Cursor<'_>,
    ) -> Done {
        let mut deepest = 0;
        loop {
            let is_left = |column: usize| indent.is_none_or(|indent| column < indent);
            while self.cursor.peek(0) == b' ' && is_left(self.cursor.column) {
                self.cursor.advance(1);
            }
            deepest = deepest.max(self.cursor.column);
            if self.cursor.peek(0) == b'\t' && is_left(self.cursor.column) {
                let message = format!(
                    "a tab indents this line of the text that begins on line {}",
                    start.mark().line
                );
                return Err(self.error(&message));
            }
            if !self.cursor.is_break(0) {
                break;
            }
            breaks.push_str(self.cursor.take_break());
        }
        let least = self.indent.map_or(1, |outer| outer + 1);
        indent.get_or_insert(deepest.max(least));
        Ok(())
    }
}
