//! Patterns of names, in which `*` stands for any text.

/// Returns whether a text matches one of the patterns, or there is none.
pub(super) fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| glob(pattern, text))
}

/// Returns whether a text matches a pattern, in which `*` stands for any text, including an empty
/// one.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len()).any(|i| tail.is_char_boundary(i) && glob(rest, &tail[i..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(glob("*", ""));
        assert!(glob("mon*ing-*", "monitoring-eu"));
        assert!(!glob("mon*", "amon"));
        assert!(!glob("a", "ab"));
        assert!(glob("é*", "éa"));
    }
}
