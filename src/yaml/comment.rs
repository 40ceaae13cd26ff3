//! Comments that are for programs to read.

/// A comment that begins with the name of a program and a colon, as `# setguard: …` and the
/// `# Source: …` of Helm do. Other comments are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// Its line, from 1.
    pub line: usize,
    /// Its text, without the `#` and the spaces around it.
    pub text: &'a str,
    /// Whether its line has nothing else, or only the dashes of list items.
    pub is_alone: bool,
}

/// With what comments begin that are kept.
const KEPT: [&str; 2] = ["setguard:", "Source:"];

impl<'a> Comment<'a> {
    /// A comment that is kept. `before` is what its line has before it.
    pub(super) fn of(text: &'a str, line: usize, before: &str) -> Option<Self> {
        let text = text.trim_start_matches('#').trim();
        let is_kept = KEPT.iter().any(|begin| text.starts_with(begin));
        let is_alone = before.trim_matches([' ', '\t', '-', '\u{feff}']).is_empty();
        is_kept.then_some(Comment { line, text, is_alone })
    }

    /// The text after `name:`, if the comment begins so.
    pub fn after(&self, name: &str) -> Option<&'a str> {
        Some(self.text.strip_prefix(name)?.strip_prefix(':')?.trim())
    }
}
