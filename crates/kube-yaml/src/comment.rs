//! Comments that are meant for a program, such as `# setguard: ignore[…]`.

/// A comment that begins with one of the kept prefixes, such as `# setguard: …` or Helm's
/// `# Source: …`. The scanner drops all other comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// The line, counted from 1.
    pub line: usize,
    /// The text, without the `#` and the spaces around it.
    pub text: &'a str,
    /// Whether it has its line to itself, apart from the dashes of list items.
    pub is_alone: bool,
}

/// The prefixes of the comments that are kept.
const KEPT: [&str; 2] = ["setguard:", "Source:"];

impl<'a> Comment<'a> {
    /// Returns a comment that is kept. `before` is the text before it in its line.
    pub(super) fn of(text: &'a str, line: usize, before: &str) -> Option<Self> {
        let text = text.trim_start_matches('#').trim();
        let is_kept = KEPT.iter().any(|begin| text.starts_with(begin));
        let is_alone = before.trim_matches([' ', '\t', '-', '\u{feff}']).is_empty();
        is_kept.then_some(Comment { line, text, is_alone })
    }

    /// Returns the text after `name:`, if the comment begins with that.
    pub fn after(&self, name: &str) -> Option<&'a str> {
        Some(self.text.strip_prefix(name)?.strip_prefix(':')?.trim())
    }
}
