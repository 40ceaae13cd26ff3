//! Quantities of resources: `500m`, `1.5Gi`, `1e3`.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/api/resource` (`quantity.go`, `suffix.go`,
//! `amount.go`), quirks included: `.` and `+` are zero, `1.5` is written `1500m`.

mod arithmetic;
mod parse;
mod print;

/// As a power of ten.
const NANO: i32 = -9;

/// The suffixes for powers of 1000, from `NANO` on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The suffixes for powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

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
    /// Only if the API server keeps the original text.
    text: Option<&'a str>,
    /// The API server stores the value as a big number and uses only its low 64 bits.
    is_big: bool,
}

impl<'a> Quantity<'a> {
    /// Parses a quantity in a resource list. The API server rounds it up to thousandths: `SetDefaults_ResourceList`.
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

    /// Returns whether the API server considers the value a whole number. For a resource it computes `MilliValue() %
    /// 1000`, and a big number overflows.
    pub fn is_integer(&self) -> bool {
        if !self.is_big || self.scale < -3 {
            return self.is_whole();
        }
        let shift = (0..self.scale + 3).fold(1u64, |shift, _| shift.wrapping_mul(10));
        let low = (self.mantissa & u128::from(u64::MAX)) as u64;
        low.wrapping_mul(shift).cast_signed() % 1000 == 0
    }

    /// Returns whether the value is a multiple of `size`, after both are rounded up to whole numbers.
    pub fn is_multiple_of(&self, size: &Quantity<'_>) -> bool {
        match (self.to_whole(), size.to_whole()) {
            (Some(value), Some(size)) => size != 0 && value % size == 0,
            // The API server reads such a long number as zero.
            (None, Some(_)) => true,
            _ => false,
        }
    }

    /// Returns the value in thousandths, rounded up. `None` if it is negative or too large.
    pub fn thousandths(&self) -> Option<u128> {
        self.rounded_up(-3).filter(|_| !self.is_negative())
    }

    fn to_whole(&self) -> Option<u128> {
        self.rounded_up(0)
    }

    /// As a multiple of `10^to`.
    fn rounded_up(&self, to: i32) -> Option<u128> {
        let (mantissa, scale) = round_up(self.mantissa, self.scale, to);
        mantissa.checked_mul(10u128.checked_pow(scale.checked_sub(to)?.unsigned_abs())?)
    }
}

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
        // As a real API server does.
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
