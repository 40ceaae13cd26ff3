//! Amounts of a resource, such as `500m` or `1Gi`.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go`.

use std::{cmp::Ordering, fmt};

/// An amount, exact to the billionth. Amounts beyond 10^29 are all one.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// How an amount was written, which is how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    DecimalSi,
}

const NANO: i128 = 1_000_000_000;
const MILLI: i128 = NANO / 1000;
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, u32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    /// Reads an amount as `ParseQuantity` does: `None` where that is an error.
    pub fn parse(text: &str) -> Option<Quantity> {
        if text.is_empty() {
            return None;
        }
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let (power_of_ten, power_of_two, format) = suffix_of(suffix)?;

        let mut nanos = scaled(whole, fraction, power_of_ten.saturating_add(9));
        if format == Format::BinarySi {
            nanos = scaled(whole, fraction, 9).saturating_mul(1 << power_of_two);
            if whole.is_empty() && fraction.is_empty() {
                nanos = 0;
            }
            nanos = nanos.min(i128::from(i64::MAX) * NANO);
        }
        let format =
            if format == Format::BinarySi && nanos < NANO { Format::DecimalSi } else { format };
        Some(Quantity { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// -1, 0 or 1.
    pub const fn sign(&self) -> i128 {
        self.nanos.signum()
    }

    /// Whether it is a whole number.
    pub const fn is_whole(&self) -> bool {
        self.nanos % NANO == 0
    }

    /// Thousandths, rounded away from zero.
    pub const fn millis(&self) -> i128 {
        let millis = self.nanos / MILLI;
        if self.nanos % MILLI == 0 { millis } else { millis + self.nanos.signum() }
    }

    /// Rounded to thousandths away from zero, as every amount in a list of resources is
    /// (`SetDefaults_ResourceList`, `pkg/apis/core/v1/defaults.go`).
    #[must_use]
    pub const fn rounded(self) -> Self {
        Quantity { nanos: self.millis().saturating_mul(MILLI), format: self.format }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}
impl Eq for Quantity {}
impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// The canonical form: `CanonicalizeBytes`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = self.nanos.abs() < 1024 * NANO;
        if self.format == Format::BinarySi && !small && self.is_whole() {
            let mut number = self.nanos / NANO;
            let mut suffix = "";
            for (next, _) in BINARY {
                if number % 1024 != 0 {
                    break;
                }
                number /= 1024;
                suffix = next;
            }
            return write!(f, "{number}{suffix}");
        }
        let (mut number, mut exponent) = (self.nanos, -9);
        while number % 1000 == 0 && exponent < 18 {
            number /= 1000;
            exponent += 3;
        }
        match (self.format, exponent) {
            (_, 0) => write!(f, "{number}"),
            (Format::DecimalExponent, _) => write!(f, "{number}e{exponent}"),
            _ => {
                let suffix = DECIMAL.iter().find(|(_, e)| *e == exponent).map_or("", |(s, _)| s);
                write!(f, "{number}{suffix}")
            }
        }
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Powers of ten and of two, and the format.
fn suffix_of(suffix: &str) -> Option<(i32, u32, Format)> {
    if let Some((_, ten)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((*ten, 0, Format::DecimalSi));
    }
    if let Some((_, two)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((0, *two, Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i64 = exponent.parse().ok()?;
    let clamped = i32::try_from(exponent.clamp(-1000, 1000)).ok()?;
    Some((clamped, 0, Format::DecimalExponent))
}

/// `whole.fraction` times a power of ten, rounded up, saturating.
fn scaled(whole: &str, fraction: &str, power: i32) -> i128 {
    let mut number: i128 = 0;
    let mut rounded_away = false;
    let mut left = power;
    for digit in whole.bytes() {
        number = number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
    }
    for digit in fraction.bytes() {
        if left > 0 {
            number = number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
            left -= 1;
        } else {
            rounded_away |= digit != b'0';
        }
    }
    while left > 0 && number != 0 && number != i128::MAX {
        number = number.saturating_mul(10);
        left -= 1;
    }
    while left < 0 && number != 0 {
        rounded_away |= number % 10 != 0;
        number /= 10;
        left += 1;
    }
    number.saturating_add(i128::from(rounded_away))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Quantity::parse(text).map_or_else(|| "error".to_owned(), |q| q.to_string())
    }

    #[test]
    fn canonical_forms() {
        let cases = [
            ("0", "0"),
            ("0Gi", "0"),
            ("-0", "0"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1000m", "1"),
            ("0.1", "100m"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1e3", "1e3"),
            ("1500", "1500"),
            ("100000000", "100M"),
            ("-1Gi", "-1Gi"),
            ("0.1n", "1n"),
            ("1E", "1E"),
            ("1E2", "100"),
            (".5", "500m"),
            ("1.", "1"),
            ("+2", "2"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount() {
        for text in
            ["", "a", "1x", "1.2.3", "1 ", " 1", "1Kii", "1mm", "--1", "1e", "1e+", "1\n", "é"]
        {
            assert_eq!(canonical(text), "error", "{text:?}");
        }
    }

    #[test]
    fn amounts_compare_by_what_they_are_worth() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(parse("1Gi"), parse("1024Mi"));
        assert_ne!(parse("1Gi"), parse("1G"));
        assert!(parse("999m") < parse("1") && parse("-1") < parse("0"));
        assert_eq!(parse("0.0001").rounded(), parse("1m"));
        assert_eq!(parse("-0.0001").millis(), -1);
        assert!(parse("1Ki").is_whole() && !parse("1.5").is_whole());
        assert_eq!(parse("1e999"), parse("9e998"), "both are beyond all bounds");
    }
}
