//! Scalars in quotes.

use std::borrow::Cow;

use super::{Done, Kind, Scanner, Style, breaks::Breaks};
use crate::{cursor::Cursor, problem::Problem};

/// A scalar under construction, borrowed while the text contains it literally.
struct Pieces {
    before: Option<String>,
    /// The start of the last piece, in bytes.
    start: usize,
}

impl Pieces {
    /// Ends a piece, and returns the value so far.
    fn end(&mut self, cursor: &Cursor<'_>) -> &mut String {
        let before = self.before.get_or_insert_default();
        before.push_str(cursor.text_since(self.start));
        before
    }
}

impl Scanner<'_> {
    /// Upstream: `yaml_parser_scan_flow_scalar`.
    pub(super) fn quoted(&mut self, quote: u8) -> Done {
        let start = self.cursor;
        self.cursor.advance(1);
        let mut pieces = Pieces { before: None, start: self.cursor.at };
        let mut breaks = Breaks::default();
        loop {
            if self.cursor.is_marker(b'-') || self.cursor.is_marker(b'.') {
                return Err(start.error("the document ends before this quote is closed"));
            }
            if self.cursor.is_end() {
                return Err(start.error("this quote is never closed"));
            }
            let mut is_new_line = self.line(quote, &mut pieces)?;
            if self.cursor.peek(0) == quote {
                break;
            }
            let space = self.cursor;
            while self.cursor.is_blank(0) || self.cursor.is_break(0) {
                if !self.cursor.is_break(0) {
                    self.cursor.advance(1);
                } else if is_new_line {
                    breaks.others.push_str(self.cursor.take_break());
                } else {
                    pieces.end(&space);
                    breaks.first = self.cursor.take_break();
                    is_new_line = true;
                }
            }
            if is_new_line {
                breaks.fold_into(pieces.before.get_or_insert_default());
                pieces.start = self.cursor.at;
            }
        }
        let last = self.cursor.text_since(pieces.start);
        let text = pieces.before.map_or(Cow::Borrowed(last), |text| Cow::Owned(text + last));
        self.cursor.advance(1);
        self.push(Kind::Scalar(text, Style::Text), start);
        Ok(())
    }

    /// Reads up to a space or the closing quote. Returns whether the line ends in a `\`.
    fn line(&mut self, quote: u8, pieces: &mut Pieces) -> Result<bool, Problem> {
        let is_single = quote == b'\'';
        loop {
            self.cursor.advance_while(|cursor, byte, n| match byte {
                b'\\' => is_single,
                0xc2 | 0xe2 => !cursor.is_break(n),
                b' ' | b'\t' | b'\n' | b'\r' | 0 => false,
                _ => byte != quote,
            });
            match self.cursor.peek(0) {
                b'\'' if is_single && self.cursor.peek(1) == b'\'' => {
                    self.cursor.advance(1);
                    pieces.end(&self.cursor);
                    self.cursor.advance(1);
                    pieces.start = self.cursor.at;
                }
                b'\\' if !is_single => {
                    pieces.end(&self.cursor);
                    if self.cursor.is_break(1) {
                        self.cursor.advance(1);
                        self.cursor.take_break();
                        pieces.start = self.cursor.at;
                        return Ok(true);
                    }
                    let c = self.escape()?;
                    pieces.before.get_or_insert_default().push(c);
                    pieces.start = self.cursor.at;
                }
                _ => return Ok(false),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let start = self.cursor;
        let c = match self.cursor.peek(1) {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            c @ (b' ' | b'"' | b'\'' | b'\\') => char::from(c),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.code(2),
            b'u' => return self.code(4),
            b'U' => return self.code(8),
            other => {
                let what = match self.cursor.rest().chars().nth(1) {
                    Some(c) if other != 0 => format!("\\{c} is not an escape in double quotes"),
                    _ => "this quote is never closed".to_owned(),
                };
                let mut problem = start.error(&what);
                problem.help = Some("write \\\\ for a backslash, or use single quotes".to_owned());
                return Err(problem);
            }
        };
        self.cursor.advance(2);
        Ok(c)
    }

    fn code(&mut self, digits: usize) -> Result<char, Problem> {
        let start = self.cursor;
        self.cursor.advance(2);
        let begin = self.cursor.at;
        let length = self.cursor.advance_while(|_, c, n| n < digits && c.is_ascii_hexdigit());
        let code = u32::from_str_radix(self.cursor.text_since(begin), 16).ok();
        code.filter(|_| length == digits).and_then(char::from_u32).ok_or_else(|| {
            Problem::not_yaml(self.cursor.since(&start), "this is not the code of a character")
        })
    }
}
