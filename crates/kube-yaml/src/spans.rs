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
        loop {
            let Token { kind, mark, bytes } = scanner.take().ok()?;
            let is_end = kind == Kind::End;
            // The scanner takes the end of the text for a line break.
            let [start, end] = [bytes.start, bytes.end].map(|at| offset + at.min(chunk_text.len()));
            let bytes = start..end;
            spans.push(Span { kind, mark, bytes });
            if is_end {
                break;
            }
        }
    }
    Some(spans)
}
