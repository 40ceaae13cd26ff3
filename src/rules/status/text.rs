//! Texts of other programs.

/// Returns a text of another program in one line, without a full stop.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}
