//! Numbers of pods that may be given as percentages.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The value as a count: a percentage is taken of `total`. `None` for a string that the API server
/// refuses.
///
/// Kubernetes: `GetScaledValueFromIntOrPercent`, apimachinery pkg/util/intstr/intstr.go.
pub(crate) fn scaled(value: &IntOrString, total: i32, round_up: bool) -> Option<i64> {
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

    #[test]
    fn percentages_round_as_asked() {
        let percent = |text: &str| IntOrString::String(text.to_owned());
        assert_eq!(scaled(&percent("30%"), 3, false), Some(0));
        assert_eq!(scaled(&percent("30%"), 3, true), Some(1));
        assert_eq!(scaled(&percent("0%"), 3, true), Some(0));
        assert_eq!(scaled(&percent("100%"), 3, false), Some(3));
        assert_eq!(scaled(&percent("x"), 3, true), None);
        assert_eq!(scaled(&percent("9223372036854775807%"), 1, true), None);
        assert_eq!(scaled(&IntOrString::Int(7), 3, true), Some(7));
    }
}
