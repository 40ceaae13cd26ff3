//! Directives, and the markers between documents.

use super::{Done, Kind, Scanner};

impl<'a> Scanner<'a> {
    /// Handles `---` or `...` at the start of a line. Neither is part of a document.
    pub(super) fn document_marker(&mut self, kind: Kind<'a>, bytes: usize) -> Done {
        self.close_blocks(None);
        self.forget_candidate(false)?;
        self.push_sign(kind, bytes);
        Ok(())
    }

    /// Handles a line that starts with `%`. It ends the document, so the rest does not matter.
    pub(super) fn directive(&mut self) -> Done {
        let rest = self.cursor.rest();
        let line = rest.lines().next().unwrap_or_default();
        let is_known = match line.split_once([' ', '\t']) {
            Some(("%YAML", value)) => is_version(value),
            Some(("%TAG", value)) => value.trim_start().starts_with('!'),
            _ => false,
        };
        if is_known {
            self.document_marker(Kind::Directive, rest.len())
        } else {
            Err(self.error("a line that begins with % is a directive; quote the text"))
        }
    }
}

/// Accepts a version such as `1.1`, with or without a comment.
fn is_version(text: &str) -> bool {
    let text = text.split('#').next().unwrap_or_default().trim();
    let is_number =
        |part: &str| matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}
