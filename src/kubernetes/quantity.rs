//! Quantities of resources: `500m`, `1.5Gi`, `1e3`.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/api/resource` (`quantity.go`, `suffix.go`,
//! `amount.go`), quirks included: `.` and `+` are zero, `1.5` is written `1500m`.

mod parse;

use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt::{self, Write as _},
};

/// The upper limit of the mantissa: ten times as much still fits into a `u128`.
const MAX_MANTISSA: u128 = 10u128.pow(37);
/// The smallest unit, as a power of ten.
const NANO: i32 = -9;

/// The notation of a quantity, in which it is also printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    DecimalSi,
}

/// A quantity: `mantissa * 10^scale`. The mantissa has no trailing zeros.
#[derive(Clone, Debug)]
pub struct Quantity<'a> {
    negative: bool,
    mantissa: u128,
    scale: i32,
    format: Format,
    /// The original text, if the API server keeps it.
    text: Option<&'a str>,
    /// Whether the API server stores the value as a big number, of which it uses only the low 64
    /// bits.
    is_big: bool,
}

impl<'a> Quantity<'a> {
    /// Parses a quantity in a resource list, which is rounded up to thousandths:
    /// `SetDefaults_ResourceList`.
    pub fn parse_resource(text: &'a str) -> Option<Quantity<'a>> {
        let mut quantity = Self::parse(text)?;
        if quantity.scale < -3 {
            (quantity.mantissa, quantity.scale) = round_up(quantity.mantissa, quantity.scale, -3);
            quantity.text = None;
        }
        Some(quantity)
    }

    fn whole(value: u128) -> Quantity<'static> {
        let (mantissa, scale) = strip(value, 0);
        Quantity {
            negative: false,
            mantissa,
            scale,
            format: Format::DecimalSi,
            text: None,
            is_big: false,
        }
    }

    /// Returns whether the value is zero.
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Returns whether the value is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative && self.mantissa != 0
    }

    fn is_whole(&self) -> bool {
        self.mantissa == 0 || self.scale >= 0
    }

    /// Returns whether the API server considers the value a whole number. For a resource it
    /// computes `MilliValue() % 1000`, which overflows for a big number.
    pub fn is_integer(&self) -> bool {
        if !self.is_big || self.scale < -3 {
            return self.is_whole();
        }
        let shift = (0..self.scale + 3).fold(1u64, |shift, _| shift.wrapping_mul(10));
        // Only the low 64 bits are needed.
        let low = (self.mantissa & u128::from(u64::MAX)) as u64;
        low.wrapping_mul(shift).cast_signed() % 1000 == 0
    }

    /// Returns whether the value is an integer multiple of `size`, after both are rounded up to whole
    /// numbers.
    pub fn is_multiple_of(&self, size: &Quantity<'_>) -> bool {
        match (self.to_whole(), size.to_whole()) {
            (Some(value), Some(size)) => size != 0 && value % size == 0,
            // The API server reads a number this long as zero.
            (None, Some(_)) => true,
            _ => false,
        }
    }

    /// Returns the value in thousandths, rounded up. Returns `None` if it is negative, or too large.
    pub fn thousandths(&self) -> Option<u128> {
        let scale = self.scale.checked_add(3)?;
        let (mantissa, scale) = match scale {
            ..0 => round_up(self.mantissa, scale, 0),
            _ => (self.mantissa, scale),
        };
        let shift = 10u128.checked_pow(scale.unsigned_abs())?;
        mantissa.checked_mul(shift).filter(|_| !self.is_negative())
    }

    fn to_whole(&self) -> Option<u128> {
        if self.scale < 0 {
            let (mantissa, scale) = round_up(self.mantissa, self.scale, 0);
            return mantissa.checked_mul(10u128.checked_pow(scale.unsigned_abs())?);
        }
        self.mantissa.checked_mul(10u128.checked_pow(self.scale.unsigned_abs())?)
    }

    fn cmp_magnitude(&self, other: &Quantity<'_>) -> Ordering {
        match (self.mantissa, other.mantissa) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return Ordering::Less,
            (_, 0) => return Ordering::Greater,
            _ => {}
        }
        let length = |q: &Quantity<'_>| q.mantissa.ilog10();
        let order = |q: &Quantity<'_>| i64::from(length(q)) + i64::from(q.scale);
        order(self).cmp(&order(other)).then_with(|| {
            // Both mantissas are padded to the same number of digits: at most 37, so they fit.
            let longest = length(self).max(length(other));
            let padded = |q: &Quantity<'_>| q.mantissa * 10u128.pow(longest - length(q));
            padded(self).cmp(&padded(other))
        })
    }

    /// Adds another quantity: `Add`. If this one is zero, it takes the format of the other.
    pub fn add(&mut self, other: &Quantity<'_>) {
        self.text = None;
        if self.is_zero() {
            self.format = other.format;
        }
        if other.is_zero() {
            return;
        }
        if self.is_zero() {
            (self.negative, self.mantissa, self.scale) =
                (other.negative, other.mantissa, other.scale);
            return;
        }
        let scale = self.scale.min(other.scale);
        let at = |q: &Quantity<'_>| {
            let shift = 10i128.checked_pow(q.scale.abs_diff(scale))?;
            let value = i128::try_from(q.mantissa).ok()?.checked_mul(shift)?;
            Some(if q.negative { -value } else { value })
        };
        // If the two are too far apart to be added, the greater one stands for the sum.
        let sum = at(self).zip(at(other)).and_then(|(a, b)| a.checked_add(b));
        if let Some(sum) = sum.filter(|sum| sum.unsigned_abs() < MAX_MANTISSA) {
            self.negative = sum < 0;
            (self.mantissa, self.scale) = strip(sum.unsigned_abs(), scale);
        } else if other.cmp_magnitude(self) == Ordering::Greater {
            (self.negative, self.mantissa, self.scale) =
                (other.negative, other.mantissa, other.scale);
        }
    }

    /// Returns a text that is identical for equal quantities.
    pub fn comparison_key(&self) -> String {
        let sign = if self.is_negative() { "-" } else { "" };
        format!("{sign}{}e{}", self.mantissa, self.scale)
    }

    /// Returns the quantity as the API server prints it: `String`.
    pub fn to_text(&self) -> Cow<'a, str> {
        if let Some(text) = self.text {
            return text.into();
        }
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_canonical(&mut out);
        out.into()
    }

    /// Writes the canonical form: `CanonicalizeBytes`.
    fn write_canonical(&self, out: &mut String) -> fmt::Result {
        if self.is_zero() {
            return out.write_str("0");
        }
        if self.negative {
            out.push('-');
        }
        if self.format == Format::BinarySi
            && let Some(mut whole) = self.to_whole()
            && self.is_whole()
            && whole >= 1024
        {
            let mut times = 0;
            while whole.is_multiple_of(1024) {
                whole /= 1024;
                times += 1;
            }
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(times).unwrap_or(&"");
            return write!(out, "{whole}{suffix}");
        }
        let shift = self.scale.rem_euclid(3);
        let exponent = self.scale - shift;
        let mantissa = self.mantissa.saturating_mul(10u128.pow(shift.unsigned_abs()));
        write!(out, "{mantissa}")?;
        if self.format == Format::DecimalExponent {
            return if exponent == 0 { Ok(()) } else { write!(out, "e{exponent}") };
        }
        out.write_str(match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        })
    }
}

/// Compares the values, however they are written: `Cmp`.
impl Ord for Quantity<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}
impl PartialOrd for Quantity<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Quantity<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Quantity<'_> {}

/// Moves trailing zeros into the scale.
fn strip(mut mantissa: u128, mut scale: i32) -> (u128, i32) {
    if mantissa == 0 {
        return (0, 0);
    }
    while mantissa.is_multiple_of(10) {
        mantissa /= 10;
        scale += 1;
    }
    (mantissa, scale)
}

/// Rounds away from zero to a multiple of `10^to`.
fn round_up(mantissa: u128, scale: i32, to: i32) -> (u128, i32) {
    if mantissa == 0 || scale >= to {
        return (mantissa, scale);
    }
    let rounded = match 10u128.checked_pow(scale.abs_diff(to)) {
        Some(step) => mantissa.div_ceil(step),
        None => 1,
    };
    strip(rounded, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text:?}")).to_text().into_owned()
    }

    #[test]
    fn reads_what_go_reads() {
        for good in [
            "0", "1", "-1", "+5", "1.", ".5", ".", "+", "1e3", "1E-3", "1Ki", "1.5Gi", "100m",
            "1n", " 5 ", "e3", "Ki",
        ] {
            assert!(Quantity::parse(good).is_some(), "{good:?}");
        }
        for bad in [
            "", "x", "1x", "1 Gi", "1gi", "1K", "1mi", "--1", "1e", "1Ee3", "1.2.3", "0x10", "é",
            "1é", "Ei", "1e3m", "2e30Ki",
        ] {
            assert!(Quantity::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn prints_as_go_prints() {
        for (given, printed) in [
            ("0", "0"),
            ("0Ki", "0"),
            ("1.5", "1500m"),
            ("1500m", "1500m"),
            ("1000m", "1"),
            ("1.5Gi", "1536Mi"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1000", "1k"),
            ("1000Ki", "1000Ki"),
            ("-5", "-5"),
            ("+5", "+5"),
            ("05", "05"),
            ("1e3", "1e3"),
            ("1000e0", "1e3"),
            ("12345678901234567890", "12345678901234567890"),
            ("0.0000000001", "1n"),
            ("0.5Ki", "512"),
            ("100Mi", "100Mi"),
            ("0.1", "100m"),
            ("512Mi", "512Mi"),
            ("8Mi", "8Mi"),
        ] {
            assert_eq!(text(given), printed, "{given}");
        }
    }

    #[test]
    fn compares_values_not_texts() {
        let cmp = |a: &str, b: &str| Quantity::parse(a).unwrap().cmp(&Quantity::parse(b).unwrap());
        assert_eq!(cmp("1", "1000m"), Ordering::Equal);
        assert_eq!(cmp("1Gi", "1G"), Ordering::Greater);
        assert_eq!(cmp("-1", "0"), Ordering::Less);
        assert_eq!(cmp("-2", "-1"), Ordering::Less);
        assert_eq!(cmp("1e100", "1e99"), Ordering::Greater);
        assert_eq!(cmp("0.1", "100m"), Ordering::Equal);
        assert_eq!(cmp("9Ei", "1E"), Ordering::Greater);
        assert_eq!(cmp("-0", "0"), Ordering::Equal);
    }

    #[test]
    fn adds_and_divides() {
        let mut sum = Quantity::parse("0").unwrap();
        for part in ["1Gi", "512Mi", "512Mi"] {
            sum.add(&Quantity::parse(part).unwrap());
        }
        assert_eq!(sum.to_text(), "2Gi");
        let mut cpu = Quantity::parse("500m").unwrap();
        cpu.add(&Quantity::parse("0.6").unwrap());
        assert_eq!(cpu.to_text(), "1100m");
        let multiple = |a: &str, b: &str| {
            Quantity::parse(a).unwrap().is_multiple_of(&Quantity::parse(b).unwrap())
        };
        assert!(multiple("4Mi", "2Mi") && !multiple("3Mi", "2Mi") && !multiple("1", "0"));
    }

    #[test]
    fn a_resource_is_rounded_up_to_thousandths() {
        let rounded = |text| Quantity::parse_resource(text).unwrap().to_text().into_owned();
        assert_eq!(rounded("0.0001"), "1m");
        assert_eq!(rounded("1500u"), "2m");
        assert_eq!(rounded("100m"), "100m");
        assert_eq!(rounded("1n"), "1m");
    }

    #[test]
    fn a_big_number_overflows_as_upstream() {
        let is_integer = |text| Quantity::parse_resource(text).unwrap().is_integer();
        assert!(is_integer("5") && is_integer("8E") && is_integer("9Ei") && !is_integer("1.5"));
        // This was observed on a real API server.
        assert!(!is_integer("12345678901234567890"));
    }

    #[test]
    fn long_numbers_do_not_overflow() {
        let long = "9".repeat(500);
        for text in [&long, &format!("{long}Ei"), &format!("0.{long}"), &format!("{long}.{long}Ki")]
        {
            let mut quantity = Quantity::parse(text).unwrap();
            let _ = quantity.to_text();
            quantity.add(&Quantity::parse("1n").unwrap());
            let _ = quantity.is_multiple_of(&Quantity::parse("3").unwrap());
        }
        let _ = Quantity::parse("1e99999999999999999999");
        let _ = Quantity::parse("1e999999999").unwrap().to_text();
    }
}
