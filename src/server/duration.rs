//! Durations in Go's syntax, such as `10s` or `1m30s`: the API server sends them, and Kubernetes
//! users expect them.

use std::time::Duration;

/// Parses a duration. Returns `None` for one that is negative or out of range.
///
/// Go: `time.ParseDuration`.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number = prefix(rest, |c| c.is_ascii_digit() || c == '.');
        rest = &rest[number.len()..];
        let unit = prefix(rest, |c| !c.is_ascii_digit() && c != '.');
        rest = &rest[unit.len()..];
        if !number.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let seconds = number.parse::<f64>().ok()? * seconds(unit)?;
        total = total.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
    }
    Some(total)
}

/// Parses a duration of the command line.
///
/// # Errors
/// Returns a message that shows an example of a duration.
pub(crate) fn from_arg(text: &str) -> Result<Duration, String> {
    parse(text).ok_or_else(|| format!("{text:?} is not a duration such as 20s, 500ms or 1m30s"))
}

fn prefix(text: &str, is: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !is(c)).unwrap_or(text.len())]
}

fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" | "µs" | "μs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, millis) in [
            ("0", 0),
            ("5s", 5_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("+250ms", 250),
            (".5s", 500),
            ("1.s", 1_000),
            ("2000µs", 2),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_none() {
        let nonsense =
            ["", "+", "10", "s", ".s", "-1s", "1.2.3s", "5 s", "5s ", "1d", "é", "9e9s", "NaNs"];
        for text in nonsense {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse(&format!("{}h", "9".repeat(40))), None);
    }
}
