//! Quantities of resources: `500m`, `1.5Gi`, `1e3`.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/api/resource` (`quantity.go`, `suffix.go`,
//! `amount.go`), quirks included: `.` and `+` are zero, `1.5` is written `1500m`.

use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt::{self, Write as _},
};

/// Whether the API server can read this as a quantity. It strips white space around it.
pub fn is_quantity(text: &str) -> bool {
    Quantity::parse(text).is_some()
}

/// The most significant digits that are kept; more than any real quantity has.
const DIGITS: u32 = 36;
/// The smallest step, as a power of ten.
const NANO: i32 = -9;

/// How a quantity was written, and is written again.
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
    /// The text as it came, where the API server keeps it.
    text: Option<&'a str>,
}

/// A quantity cut into its parts: `parseQuantityString`.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'a str,
    /// Digits behind the point.
    fraction: &'a str,
    suffix: &'a str,
    /// Whether there was any digit or point to read.
    has_number: bool,
}

fn split(text: &str) -> Option<Parts<'_>> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let number = rest;
    let rest = rest.trim_start_matches('0');
    let (whole, rest) = rest.split_at(digits(rest));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let letters = suffix.bytes().take_while(|b| b"eEinumkKMGTP".contains(b)).count();
    let exponent = suffix[letters..].strip_prefix(['-', '+']).unwrap_or(&suffix[letters..]);
    if digits(exponent) != exponent.len() {
        return None;
    }
    let before = number.len() - suffix.len();
    Some(Parts {
        negative,
        whole,
        fraction,
        suffix,
        has_number: number[..before].len() > 0 && number[..before] != *".",
    })
}

/// Base, exponent and format of a suffix: `suffixHandler.interpret`.
fn interpret(suffix: &str) -> Option<(u32, i32, Format)> {
    Some(match suffix {
        "n" => (10, -9, Format::DecimalSi),
        "u" => (10, -6, Format::DecimalSi),
        "m" => (10, -3, Format::DecimalSi),
        "" => (10, 0, Format::DecimalSi),
        "k" => (10, 3, Format::DecimalSi),
        "M" => (10, 6, Format::DecimalSi),
        "G" => (10, 9, Format::DecimalSi),
        "T" => (10, 12, Format::DecimalSi),
        "P" => (10, 15, Format::DecimalSi),
        "E" => (10, 18, Format::DecimalSi),
        "Ki" => (2, 10, Format::BinarySi),
        "Mi" => (2, 20, Format::BinarySi),
        "Gi" => (2, 30, Format::BinarySi),
        "Ti" => (2, 40, Format::BinarySi),
        "Pi" => (2, 50, Format::BinarySi),
        "Ei" => (2, 60, Format::BinarySi),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Upstream wraps it into 32 bits; what is left of the range is no quantity anyway.
            let exponent = exponent.clamp(-1_000_000, 1_000_000);
            (10, i32::try_from(exponent).ok()?, Format::DecimalExponent)
        }
    })
}

impl<'a> Quantity<'a> {
    /// Reads a quantity: `ParseQuantity`. `None` when it is none.
    pub fn parse(text: &'a str) -> Option<Quantity<'a>> {
        let text = text.trim();
        let parts = split(text)?;
        let (base, exponent, mut format) = interpret(parts.suffix)?;
        let negative = parts.negative;
        let (mut mantissa, mut scale, written) = number(parts.whole, parts.fraction);
        if base == 10 {
            scale = scale.saturating_add(exponent);
        }
        let digits = i32::try_from(parts.whole.len().max(1) + parts.fraction.len()).ok()?;
        let precision = match format {
            Format::BinarySi if parts.fraction.is_empty() => {
                15 - i32::try_from(parts.whole.len().max(1)).ok()? - exponent * 3 / 10 - 1
            }
            Format::BinarySi => -1,
            _ => 18 - digits,
        };
        let raw_scale =
            exponent_of(base, exponent).saturating_sub(i32::try_from(parts.fraction.len()).ok()?);
        let fast = precision >= 0 && raw_scale >= NANO;
        if !fast && !parts.has_number {
            return None;
        }
        if base == 2 {
            (mantissa, scale) = times(mantissa, scale, 1u128 << exponent.clamp(0, 60));
        }
        if !fast {
            if scale < NANO {
                (mantissa, scale) = round_up(mantissa, scale, NANO);
            }
            if format == Format::BinarySi {
                let most = Quantity::whole(i64::MAX.unsigned_abs().into());
                let value = Quantity { negative: false, mantissa, scale, format, text: None };
                if value.cmp(&most) == Ordering::Greater {
                    (mantissa, scale) = (most.mantissa, most.scale);
                } else if value.cmp(&Quantity::whole(1)) == Ordering::Less && mantissa > 0 {
                    format = Format::DecimalSi;
                }
            }
        }
        let canonical = fast
            && match format {
                Format::BinarySi => written.unwrap_or(0) & 7 != 0,
                _ => {
                    let shifted = parts.fraction;
                    let first = parts.whole.bytes().next().unwrap_or(b'0');
                    raw_scale % 3 == 0 && first != b'0' && !ends_with_thousand(parts.whole, shifted)
                }
            };
        let text = (canonical || text == "0").then_some(text);
        Some(Quantity { negative, mantissa, scale, format, text })
    }

    /// Reads a quantity of a list of resources, which is rounded up to thousandths:
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
        Quantity { negative: false, mantissa, scale, format: Format::DecimalSi, text: None }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative && self.mantissa != 0
    }

    /// Whether it is a whole number.
    pub fn is_integer(&self) -> bool {
        self.mantissa == 0 || self.scale >= 0
    }

    /// Whether it is a whole multiple of another, both rounded up to whole numbers first.
    pub fn is_multiple_of(&self, size: &Quantity<'_>) -> bool {
        match (self.to_whole(), size.to_whole()) {
            (Some(value), Some(size)) => size != 0 && value % size == 0,
            // A number this long is a power of ten times something.
            _ => false,
        }
    }

    fn to_whole(&self) -> Option<u128> {
        if self.scale < 0 {
            let (mantissa, scale) = round_up(self.mantissa, self.scale, 0);
            return mantissa.checked_mul(10u128.checked_pow(scale.unsigned_abs())?);
        }
        self.mantissa.checked_mul(10u128.checked_pow(self.scale.unsigned_abs())?)
    }

    /// Compares the values, however they are written: `Cmp`.
    pub fn cmp(&self, other: &Quantity<'_>) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
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
            // As many digits each: at most 36, so they fit.
            let longest = length(self).max(length(other));
            let padded = |q: &Quantity<'_>| q.mantissa * 10u128.pow(longest - length(q));
            padded(self).cmp(&padded(other))
        })
    }

    /// Adds another: `Add`. The format of a sum that was zero is the other's.
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
        // Too far apart to matter to each other: the greater one stands for the sum.
        let sum = at(self).zip(at(other)).and_then(|(a, b)| a.checked_add(b));
        if let Some(sum) = sum {
            self.negative = sum < 0;
            (self.mantissa, self.scale) = strip(sum.unsigned_abs(), scale);
        } else if other.cmp_magnitude(self) == Ordering::Greater {
            (self.negative, self.mantissa, self.scale) =
                (other.negative, other.mantissa, other.scale);
        }
    }

    /// As the API server prints it: `String`.
    pub fn to_text(&self) -> Cow<'a, str> {
        if let Some(text) = self.text {
            return text.into();
        }
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_canonical(&mut out);
        out.into()
    }

    /// `CanonicalizeBytes`.
    fn write_canonical(&self, out: &mut String) -> fmt::Result {
        if self.is_zero() {
            return out.write_str("0");
        }
        if self.negative {
            out.push('-');
        }
        if self.format == Format::BinarySi
            && let Some(mut whole) = self.to_whole()
            && self.is_integer()
            && whole >= 1024
        {
            let mut times = 0;
            while whole % 1024 == 0 {
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

const fn exponent_of(base: u32, exponent: i32) -> i32 {
    if base == 10 { exponent } else { 0 }
}

/// Whether the digits end in three zeros.
fn ends_with_thousand(whole: &str, fraction: &str) -> bool {
    let mut tail = whole.bytes().chain(fraction.bytes()).rev().take(3);
    (0..3).all(|_| tail.next() == Some(b'0'))
}

/// Mantissa and scale of digits before and behind a point, and the digits as a number where they
/// fit.
fn number(whole: &str, fraction: &str) -> (u128, i32, Option<u128>) {
    let (mut mantissa, mut scale, mut kept, mut lost) = (0u128, 0i32, 0u32, false);
    for (place, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let behind = place >= whole.len();
        if kept < DIGITS {
            mantissa = mantissa * 10 + u128::from(digit - b'0');
            kept += u32::from(mantissa > 0);
            scale -= i32::from(behind);
        } else {
            lost = true;
            scale += i32::from(!behind);
        }
    }
    let written = (!lost).then_some(mantissa);
    let (mantissa, scale) = strip(mantissa, scale);
    (mantissa, scale, written)
}

/// Moves trailing zeros into the scale.
fn strip(mut mantissa: u128, mut scale: i32) -> (u128, i32) {
    if mantissa == 0 {
        return (0, 0);
    }
    while mantissa % 10 == 0 {
        mantissa /= 10;
        scale += 1;
    }
    (mantissa, scale)
}

/// Multiplies, dropping digits that do not fit.
fn times(mut mantissa: u128, mut scale: i32, factor: u128) -> (u128, i32) {
    loop {
        match mantissa.checked_mul(factor) {
            Some(product) if product < 10u128.pow(DIGITS) => return strip(product, scale),
            _ => {
                mantissa /= 10;
                scale += 1;
            }
        }
    }
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
            assert!(is_quantity(good), "{good:?}");
        }
        for bad in [
            "", "x", "1x", "1 Gi", "1gi", "1K", "1mi", "--1", "1e", "1Ee3", "1.2.3", "0x10", "é",
            "1é", "Ei", "1e3m",
        ] {
            assert!(!is_quantity(bad), "{bad:?}");
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
            ("2e30Ki", "2e30Ki"),
        ]
        .into_iter()
        .filter(|(given, _)| is_quantity(given))
        {
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
