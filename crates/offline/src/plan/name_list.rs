//! Lists of names.

use super::styled_line::Symbols;

/// The most names that are listed.
const MOST_NAMES: usize = 8;

/// Returns the names, or only the first and the last one if there are many.
pub(super) fn list(names: &[String], symbols: Symbols) -> String {
    if names.len() <= MOST_NAMES {
        return names.join(" ");
    }
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return String::new() };
    format!("{first} {} {last} ({} of them)", symbols.more, names.len())
}
