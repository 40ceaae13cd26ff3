use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use super::{BINARY, DECIMAL, Format, NANO, Quantity};

impl<'a> Quantity<'a> {
    /// Returns the same text for all equal quantities.
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
            && self.is_whole()
            && whole >= 1024
        {
            let mut times = 0;
            while whole.is_multiple_of(1024) {
                whole /= 1024;
                times += 1;
            }
            let suffix = BINARY.get(times).unwrap_or(&"");
            return write!(out, "{whole}{suffix}");
        }
        let shift = self.scale.rem_euclid(3);
        let exponent = self.scale - shift;
        let mantissa = self.mantissa.saturating_mul(10u128.pow(shift.unsigned_abs()));
        write!(out, "{mantissa}")?;
        if self.format == Format::DecimalExponent {
            return if exponent == 0 { Ok(()) } else { write!(out, "e{exponent}") };
        }
        let power = usize::try_from((exponent - NANO) / 3).ok();
        out.write_str(power.and_then(|power| DECIMAL.get(power)).unwrap_or(&""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text:?}")).to_text().into_owned()
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
}
