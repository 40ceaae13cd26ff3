use std::cmp::Ordering;

use super::{BINARY, DECIMAL, Format, NANO, Quantity, round_up, strip};

/// How many significant digits are kept. No real quantity has this many.
const DIGITS: u32 = 36;

/// `parseQuantityString`
struct Parts<'a> {
    negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// A digit precedes the suffix.
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
        has_number: !matches!(&number[..before], "" | "."),
    })
}

/// `suffixHandler.interpret`
fn interpret(suffix: &str) -> Option<(u32, i32, Format)> {
    let power = |all: &[&str]| all.iter().position(|it| *it == suffix).map(|i| i as i32);
    if let Some(power) = power(&DECIMAL) {
        return Some((10, 3 * power + NANO, Format::DecimalSi));
    }
    if let Some(power) = power(&BINARY) {
        return Some((2, 10 * power, Format::BinarySi));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Go wraps the exponent to 32 bits. No sensible quantity is outside this range.
    let exponent = exponent.clamp(-1_000_000, 1_000_000);
    Some((10, i32::try_from(exponent).ok()?, Format::DecimalExponent))
}

impl<'a> Quantity<'a> {
    /// Parses a quantity: `ParseQuantity`. `None` if the text is not a quantity.
    pub fn parse(text: &'a str) -> Option<Quantity<'a>> {
        let text = text.trim();
        let parts = split(text)?;
        let (base, exponent, mut format) = interpret(parts.suffix)?;
        let negative = parts.negative;
        let (mut mantissa, mut scale, written) = number(parts.whole, parts.fraction);
        let power = if base == 10 { exponent } else { 0 };
        scale = scale.saturating_add(power);
        let digits = i32::try_from(parts.whole.len().max(1) + parts.fraction.len()).ok()?;
        let precision = match format {
            Format::BinarySi if parts.fraction.is_empty() => {
                15 - i32::try_from(parts.whole.len().max(1)).ok()? - exponent * 3 / 10 - 1
            }
            Format::BinarySi => -1,
            _ => 18 - digits,
        };
        let raw_scale = power.saturating_sub(i32::try_from(parts.fraction.len()).ok()?);
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
                let value =
                    Quantity { negative: false, mantissa, scale, format, text: None, is_big: true };
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
        Some(Quantity { negative, mantissa, scale, format, text, is_big: !fast })
    }
}

fn ends_with_thousand(whole: &str, fraction: &str) -> bool {
    let mut tail = whole.bytes().chain(fraction.bytes()).rev().take(3);
    (0..3).all(|_| tail.next() == Some(b'0'))
}

/// Returns the mantissa and scale of the digits, and all digits as one number if they fit.
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

/// Drops the digits that do not fit.
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
