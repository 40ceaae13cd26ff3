//! Comments for programs, such as `# setguard: ignore[…]`.

/// A comment for a program, such as `# setguard: …` or Helm's `# Source: …`. The scanner drops other comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// The line, counted from 1.
    pub line: usize,
    /// The text, without the `#` and the spaces around it.
    pub text: &'a str,
    /// Whether nothing else is on its line, except the dashes of list items.
    pub is_alone: bool,
}

const KEPT: [&str; 2] = ["setguard:", "Source:"];

impl<'a> Comment<'a> {
    /// `before` is the text before the comment on its line.
    pub(super) fn of(text: &'a str, line: usize, before: &str) -> Option<Self> {
        let text = text.trim_start_matches('#').trim();
        let is_kept = KEPT.iter().any(|begin| text.starts_with(begin));
        let is_alone = before.trim_matches([' ', '\t', '-', '\u{feff}']).is_empty();
        is_kept.then_some(Comment { line, text, is_alone })
    }

    /// Returns the text after `name:` if the comment starts with it.
    pub fn after(&self, name: &str) -> Option<&'a str> {
        Some(self.text.strip_prefix(name)?.strip_prefix(':')?.trim())
    }
}
