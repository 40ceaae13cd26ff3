//! A position in a text that moves forward.

use super::{node::Mark, problem::Problem};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) at: usize,
    /// In characters, as kubectl's parser limits the length of a key.
    pub(super) index: usize,
    /// Line breaks so far, as editors count them.
    line: usize,
    /// Line breaks so far, as YAML 1.1 counts them.
    pub(super) row: usize,
    pub(super) column: usize,
}

impl<'a> Cursor<'a> {
    /// `line` is the number of lines before the text.
    pub(super) const fn new(text: &'a str, line: usize) -> Self {
        Cursor { text, at: 0, index: 0, line, row: 0, column: 0 }
    }

    pub(super) const fn mark(&self) -> Mark {
        Mark { line: self.line + 1, column: self.column + 1, width: 0 }
    }

    pub(super) fn error(&self, message: &str) -> Problem {
        Problem::not_yaml(self.mark(), message)
    }

    /// Returns `start` with the width of the text since then; 0 if the text spans several lines.
    pub(super) fn since(&self, start: &Self) -> Mark {
        let width = if self.row == start.row { self.column - start.column } else { 0 };
        Mark { width, ..start.mark() }
    }

    pub(super) fn text_since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at.min(self.text.len())).unwrap_or_default()
    }

    pub(super) fn line_before(&self) -> &'a str {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the byte `n` bytes ahead, or 0 after the end. As in kubectl, every text ends with a newline.
    pub(super) fn peek(&self, n: usize) -> u8 {
        let at = self.at + n;
        match self.text.as_bytes().get(at) {
            Some(byte) => *byte,
            None if at == self.text.len() && !self.text.ends_with('\n') => b'\n',
            None => 0,
        }
    }

    pub(super) fn is_end(&self) -> bool {
        self.peek(0) == 0
    }

    pub(super) fn is_blank(&self, n: usize) -> bool {
        matches!(self.peek(n), b' ' | b'\t')
    }

    /// YAML 1.1 also breaks lines at U+0085, U+2028 and U+2029.
    pub(super) fn is_break(&self, n: usize) -> bool {
        match self.peek(n) {
            b'\n' | b'\r' => true,
            0xc2 => self.peek(n + 1) == 0x85,
            0xe2 => self.peek(n + 1) == 0x80 && matches!(self.peek(n + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_break_or_end(&self, n: usize) -> bool {
        self.peek(n) == 0 || self.is_break(n)
    }

    pub(super) fn is_space_or_end(&self, n: usize) -> bool {
        self.is_blank(n) || self.is_break_or_end(n)
    }

    /// Returns whether a line with `---` or `...` begins here. `marker` is its character.
    pub(super) fn is_marker(&self, marker: u8) -> bool {
        self.column == 0 && (0..3).all(|n| self.peek(n) == marker) && self.is_space_or_end(3)
    }

    /// The bytes must not contain a line break.
    pub(super) fn advance(&mut self, bytes: usize) {
        let passed = self.text.as_bytes().get(self.at..self.at + bytes).unwrap_or_default();
        let characters = match passed {
            passed if passed.is_ascii() => passed.len(),
            passed => passed.iter().filter(|byte| **byte & 0xc0 != 0x80).count(),
        };
        self.at += bytes;
        self.index += characters;
        self.column += characters;
    }

    /// Returns the number of bytes.
    pub(super) fn advance_while(&mut self, is_part: impl Fn(&Self, u8, usize) -> bool) -> usize {
        let mut bytes = 0;
        while is_part(self, self.peek(bytes), bytes) {
            bytes += 1;
        }
        self.advance(bytes);
        bytes
    }

    /// Advances to the first byte that `ends` accepts, or to the end. Skips bytes that are not in `may_end`.
    pub(super) fn advance_to(
        &mut self,
        may_end: &[bool; 256],
        ends: impl Fn(&Self, u8, usize) -> bool,
    ) -> usize {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is_end = |(n, byte): (usize, &u8)| {
            may_end.get(usize::from(*byte)).is_some_and(|may| *may) && ends(self, *byte, n)
        };
        let bytes = rest.iter().enumerate().position(is_end).unwrap_or(rest.len());
        self.advance(bytes);
        bytes
    }

    pub(super) fn skip_spaces(&mut self, and_tabs: bool) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is_skipped = |byte: &u8| *byte == b' ' || and_tabs && *byte == b'\t';
        let spaces = rest.iter().take_while(|byte| is_skipped(byte)).count();
        self.at += spaces;
        self.index += spaces;
        self.column += spaces;
    }

    pub(super) fn skip_blanks(&mut self) {
        self.skip_spaces(true);
    }

    pub(super) fn skip_comment(&mut self) {
        if self.peek(0) == b'#' {
            self.advance_while(|cursor, _, n| !cursor.is_break_or_end(n));
        }
    }

    /// Returns the text that the break becomes in a scalar.
    pub(super) fn take_break(&mut self) -> &'static str {
        let (bytes, text, is_line) = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'\r', b'\n', _) => (2, "\n", true),
            (b'\n', ..) => (1, "\n", true),
            (b'\r', ..) => (1, "\n", false),
            (0xc2, ..) => (2, "\n", false),
            (_, _, 0xa8) => (3, "\u{2028}", false),
            _ => (3, "\u{2029}", false),
        };
        self.at += bytes;
        self.index += 1;
        self.line += usize::from(is_line);
        self.row += 1;
        self.column = 0;
        text
    }
}
