//! Comments for programs.

/// A comment that begins with the name of a program and a colon, such as `# setguard: …` and Helm's
/// `# Source: …`. Other comments are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// The comment's line, from 1.
    pub line: usize,
    /// The comment's text, without the `#` and the spaces around it.
    pub text: &'a str,
    /// Whether the line has nothing else, or only the dashes of list items.
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
