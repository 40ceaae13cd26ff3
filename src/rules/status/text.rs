//! Texts that others wrote.

/// A text that somebody else wrote, in one line and without a full stop.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}
