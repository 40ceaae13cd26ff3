//! Positions: bytes of a text, the marks of findings, and the lines and units of the protocol.

use kube_yaml::Mark;
use setguard_core::words;

use super::protocol::{Position, Range};

words! {
    /// How the editor counts the characters of a line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) enum Encoding {
        Utf8 => "utf-8",
        /// UTF-16 code units. Every editor supports them.
        #[default]
        Utf16 => "utf-16",
    }
}

impl Encoding {
    fn width(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    encoding: Encoding,
    /// The offsets of lines as the protocol counts them: they end with `\n`, `\r\n` or `\r`.
    starts: Vec<usize>,
    /// The offsets of lines as marks count them: they end with `\n`.
    rows: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str, encoding: Encoding) -> Self {
        let (mut starts, mut rows) = (vec![0], vec![0]);
        let bytes = text.as_bytes();
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let is_feed = bytes.get(at) == Some(&b'\n');
            if is_feed {
                rows.push(at + 1);
            }
            if is_feed || bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Lines { text, encoding, starts, rows }
    }

    /// Returns the end of the text for a byte beyond it.
    pub(super) fn position(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.text.get(start..byte).or_else(|| self.text.get(start..));
        let character = self.encoding.width(before.unwrap_or_default());
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position { line: small(line), character: small(character) }
    }

    pub(super) fn range(&self, bytes: &std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end) }
    }

    /// A position beyond a line or the text is its end; one inside a character is the character's start.
    pub(super) fn byte(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else { return self.text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let content = self.text.get(start..end).unwrap_or_default().trim_end_matches(['\r', '\n']);
        let mut units = position.character as usize;
        for (at, character) in content.char_indices() {
            let width = self.encoding.width(character.encode_utf8(&mut [0; 4]));
            if units < width {
                return start + at;
            }
            units -= width;
        }
        start + content.len()
    }

    /// A mark without a width covers the rest of its line.
    pub(super) fn of_mark(&self, mark: Mark) -> Range {
        let row = mark.line.saturating_sub(1);
        let Some(start) = self.rows.get(row).copied() else {
            return self.range(&(self.text.len()..self.text.len()));
        };
        let end = self.rows.get(row + 1).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or_default();
        let content = line.trim_end();
        // Columns begin after the byte order mark.
        let skipped = usize::from(line.starts_with('\u{feff}'));
        let column = mark.column.saturating_sub(1) + skipped;
        let at = |column| content.char_indices().nth(column).map_or(content.len(), |(at, _)| at);
        let (from, to) = match mark.width {
            0 => (at(column), content.len()),
            width => (at(column), at(column.saturating_add(width))),
        };
        self.range(&(start + from..start + to))
    }

    /// Leaves out the spaces around the text of the line.
    pub(super) fn of_line(&self, line: usize) -> Range {
        let start = line.checked_sub(1).and_then(|row| self.rows.get(row)).copied();
        let text = start.and_then(|start| self.text.get(start..)).unwrap_or_default();
        let line_text = text.lines().next().unwrap_or_default();
        let indent = line_text.chars().count() - line_text.trim_start().chars().count();
        self.of_mark(Mark { line, column: indent + 1, width: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    /// `é` has 2 bytes and 1 unit of UTF-16, `🦀` 4 and 2.
    const TEXT: &str = "a: é🦀b\r\nc: d\re: 🦀\n";

    #[test]
    fn characters_are_counted_in_the_unit_of_the_editor() {
        let byte = TEXT.find('b').unwrap();
        assert_eq!(Lines::of(TEXT, Encoding::Utf8).position(byte), at(0, 9));
        assert_eq!(Lines::of(TEXT, Encoding::Utf16).position(byte), at(0, 6));
        let mark = Mark { line: 1, column: 5, width: 1 };
        let range = |start, end| Range { start, end };
        assert_eq!(Lines::of(TEXT, Encoding::Utf8).of_mark(mark), range(at(0, 5), at(0, 9)));
        assert_eq!(Lines::of(TEXT, Encoding::Utf16).of_mark(mark), range(at(0, 4), at(0, 6)));
    }

    #[test]
    fn every_byte_has_a_position_and_every_position_a_byte() {
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let lines = Lines::of(TEXT, encoding);
            for (byte, character) in TEXT.char_indices() {
                if character != '\n' || !TEXT[..byte].ends_with('\r') {
                    assert_eq!(lines.byte(lines.position(byte)), byte, "{encoding:?}");
                }
            }
            assert_eq!(lines.position(usize::MAX), lines.position(TEXT.len()));
            assert_eq!(lines.byte(at(0, 99)), TEXT.find('\r').unwrap());
            assert_eq!(lines.byte(at(99, 0)), TEXT.len());
            assert_eq!(lines.byte(at(2, 4)), TEXT.rfind('🦀').unwrap());
        }
    }

    #[test]
    fn a_mark_without_a_width_is_the_rest_of_its_line() {
        let lines = Lines::of("\u{feff}a: b  \n\n", Encoding::Utf16);
        let range = |line, start, end| Range { start: at(line, start), end: at(line, end) };
        assert_eq!(lines.of_mark(Mark { line: 1, column: 4, width: 0 }), range(0, 4, 5));
        assert_eq!(lines.of_mark(Mark { line: 2, column: 4, width: 9 }), range(1, 0, 0));
        assert_eq!(lines.of_mark(Mark { line: 9, column: 4, width: 9 }), range(2, 0, 0));
        assert_eq!(lines.of_mark(Mark::default()), range(0, 1, 5));
        assert_eq!(Lines::of("  a: b\n", Encoding::Utf8).of_line(1), range(0, 2, 6));
    }
}
