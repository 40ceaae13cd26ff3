//! Durations of flags and of the API server, such as `90s` or `1m30s`.

use std::time::Duration;

use jiff::SignedDuration;

/// Parses a duration that is not negative, in Go's syntax. jiff reads all of it except a plain `0`. The error shows an
/// example of a duration.
pub fn signed(text: &str) -> Result<SignedDuration, String> {
    if text == "0" {
        return Ok(SignedDuration::ZERO);
    }
    let parsed: Option<SignedDuration> = text.parse().ok();
    parsed
        .filter(|duration| !duration.is_negative())
        .ok_or_else(|| format!("{text:?} is not a duration such as 20s, 500ms or 1m30s"))
}

/// Like [`signed`], but returns the type of the standard library. The error shows an example of a duration.
pub fn parse(text: &str) -> Result<Duration, String> {
    signed(text).map(SignedDuration::unsigned_abs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, millis) in [
            ("0", 0),
            ("0s", 0),
            ("5s", 5_000),
            ("1m30s", 90_000),
            ("1m0s", 60_000),
            ("1.5h", 5_400_000),
            ("8760h", 31_536_000_000),
            ("+250ms", 250),
            ("2000µs", 2),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in ["", "+", "10", "s", ".s", "-1s", "1.2.3s", "é", "NaNs", "soon"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse(&format!("{}h", "9".repeat(40))).is_err());
    }
}
