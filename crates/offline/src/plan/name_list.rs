use super::styled_line::Symbols;

const MOST_NAMES: usize = 8;

/// Returns the names, or the first and last name of a long list.
pub(super) fn list(names: &[String], symbols: Symbols) -> String {
    if names.len() <= MOST_NAMES {
        return names.join(" ");
    }
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return String::new() };
    format!("{first} {} {last} ({} of them)", symbols.more, names.len())
}
