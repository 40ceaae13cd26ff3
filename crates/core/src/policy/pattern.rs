/// `true` without patterns.
pub(super) fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| glob(pattern, text))
}

/// `ours` match all that `theirs` match. Patterns are compared as text, so equivalent patterns may count as different.
pub(super) fn include(ours: &[String], theirs: &[String]) -> bool {
    ours.is_empty() || !theirs.is_empty() && theirs.iter().all(|pattern| ours.contains(pattern))
}

/// `*` stands for any text, including none. Each part between two stars is matched at its first occurrence, so no part
/// of the text is read twice.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, is_match) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("**", "a", true),
            ("mon*ing-*", "monitoring-eu", true),
            ("mon*", "amon", false),
            ("a", "ab", false),
            ("é*", "éa", true),
            ("ab*ba", "aba", false),
            ("*ab*b", "abab", true),
            ("*ab*ab", "ab", false),
        ] {
            assert_eq!(glob(pattern, text), is_match, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_one() {
        let pattern = format!("{}b", "*a".repeat(120));
        assert!(!glob(&pattern, &"a".repeat(253)));
        assert!(glob(&pattern, &format!("{}b", "a".repeat(252))));
    }
}
