use std::ops::Range;

use super::{
    node::Mark,
    scanner::{Kind, Scanner, Token},
    stream::{Chunk, yaml_documents},
};

/// A token and its bytes, for programs that edit the text.
#[derive(Debug)]
pub struct Span<'a> {
    /// The token.
    pub kind: Kind<'a>,
    /// Line and column, as in the tree.
    pub mark: Mark,
    /// Its bytes in the stream; empty for a token without text, such as the end of a block.
    pub bytes: Range<usize>,
}

/// Returns the tokens of all documents of a stream, with JSON read as YAML. `None` if the stream cannot be read.
pub fn spans(text: &str) -> Option<Vec<Span<'_>>> {
    let mut spans = Vec::new();
    let mut stream = yaml_documents(text);
    while let Some((line, chunk)) = stream.chunk() {
        let Chunk::Text(chunk) = chunk else { return None };
        let chunk_text = chunk.strip_prefix('\u{feff}').unwrap_or(chunk);
        let offset = chunk_text.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let mut scanner = Scanner::new(chunk, line);
        let mut starts =
            Starts { text: chunk_text, line: line + 1, column: 1, at: 0, line_start: 0 };
        loop {
            let Token { kind, mark, end } = scanner.take().ok()?;
            let is_end = kind == Kind::End;
            let start = starts.of(mark)?;
            // The scanner takes the end of the text for a line break.
            let end = end.min(chunk_text.len()).max(start);
            let bytes = offset + start..offset + end;
            spans.push(Span { kind, mark, bytes });
            if is_end {
                break;
            }
        }
    }
    Some(spans)
}

/// Finds the byte of a position. Positions come in order, so all calls together read the text once.
struct Starts<'a> {
    text: &'a str,
    /// The end of the last call; line and column count from 1.
    line: usize,
    column: usize,
    at: usize,
    line_start: usize,
}

impl Starts<'_> {
    fn of(&mut self, mark: Mark) -> Option<usize> {
        while self.line < mark.line {
            let rest = self.text.get(self.line_start..)?;
            self.line_start += rest.find('\n').map_or(rest.len(), |end| end + 1);
            self.line += 1;
            (self.column, self.at) = (1, self.line_start);
        }
        if mark.column < self.column {
            (self.column, self.at) = (1, self.line_start);
        }
        // A token can begin after the last character.
        for c in self.text.get(self.at..)?.chars().take(mark.column - self.column) {
            self.at += c.len_utf8();
            self.column += 1;
        }
        Some(self.at)
    }
}
