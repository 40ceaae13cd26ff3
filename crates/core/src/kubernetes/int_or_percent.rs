//! Numbers that may also be percentages.
//!
//! Kubernetes: `ValidatePositiveIntOrPercent` and its neighbours, `pkg/apis/apps/validation/validation.go`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::names;
use crate::finding::{At, Value};

/// Validates a non-negative number or a percentage: `ValidatePositiveIntOrPercent`.
pub fn validate(value: &IntOrString, path: &At<'_>) {
    match value {
        IntOrString::Int(number) if *number < 0 => path.invalid(*number, names::NOT_NEGATIVE),
        IntOrString::Int(_) => {}
        IntOrString::String(text) => {
            for message in names::percent(text) {
                path.invalid(to_value(value), message);
            }
        }
    }
}

/// Validates that a percentage is at most 100; plain numbers have no limit: `IsNotMoreThan100Percent`.
pub fn not_more_than_100_percent(value: &IntOrString, path: &At<'_>) {
    if percentage(value).is_some_and(|percent| percent > 100) {
        path.invalid(to_value(value), "must not be greater than 100%");
    }
}

/// Returns the number or percentage; other text counts as the number in it, or as 0: `getIntOrPercentValue`.
pub fn number(value: &IntOrString) -> i64 {
    match value {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(text) => percentage(value).unwrap_or_else(|| atoi(text)),
    }
}

/// Returns the value as it is written.
pub fn shown(value: &IntOrString) -> String {
    match value {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}

/// Converts the value for a message.
pub fn to_value(value: &IntOrString) -> Value<'static> {
    match value {
        IntOrString::Int(number) => Value::Int(i64::from(*number)),
        IntOrString::String(text) => Value::json(text),
    }
}

/// Returns the percentage, if the value is one: `getPercentValue`.
pub fn percentage(value: &IntOrString) -> Option<i64> {
    match value {
        IntOrString::String(text) if names::is_percent(text) => Some(atoi(text.strip_suffix('%')?)),
        _ => None,
    }
}

/// Go's `strconv.Atoi` with the error ignored: a number out of range becomes the nearest in range.
fn atoi(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        match (
            text.starts_with('-'),
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()),
        ) {
            (_, false) => 0,
            (true, true) => i64::MIN,
            (false, true) => i64::MAX,
        }
    })
}

/// Returns the value as a count, with a percentage taken of `total`; `None` for a string that the API server rejects.
/// Kubernetes: `GetScaledValueFromIntOrPercent`, apimachinery pkg/util/intstr/intstr.go.
pub fn scaled(value: &IntOrString, total: i32, round_up: bool) -> Option<i64> {
    match value {
        IntOrString::Int(count) => Some((*count).into()),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let hundredfold = percent.checked_mul(total.into())?;
            Some(hundredfold.checked_add(if round_up { 99 } else { 0 })? / 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> IntOrString {
        IntOrString::String(value.to_owned())
    }

    #[test]
    fn percentages_round_in_the_given_direction() {
        assert_eq!(scaled(&text("30%"), 3, false), Some(0));
        assert_eq!(scaled(&text("30%"), 3, true), Some(1));
        assert_eq!(scaled(&text("0%"), 3, true), Some(0));
        assert_eq!(scaled(&text("100%"), 3, false), Some(3));
        assert_eq!(scaled(&text("x"), 3, true), None);
        assert_eq!(scaled(&text("9223372036854775807%"), 1, true), None);
        assert_eq!(scaled(&IntOrString::Int(7), 3, true), Some(7));
    }

    #[test]
    fn what_a_text_counts_as() {
        let cases = [
            ("50%", 50),
            ("5", 5),
            ("-5", -5),
            ("abc", 0),
            ("-1%", 0),
            ("0%", 0),
            ("", 0),
            ("+3", 3),
        ];
        for (value, expected) in cases {
            assert_eq!(number(&text(value)), expected, "{value}");
        }
        assert_eq!(number(&text("99999999999999999999%")), i64::MAX);
        assert_eq!(number(&text("-99999999999999999999")), i64::MIN);
    }
}
