//! The values of plain scalars in YAML 1.1, as sigs.k8s.io/yaml reads them.
//!
//! Upstream: `resolve` in go.yaml.in/yaml/v2, then encoding/json. The latter writes an integral float as an integer.

mod timestamp;

use std::borrow::Cow;

use base64::{
    Engine, alphabet,
    engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig},
};

use super::node::Value;

/// Returns the value of a scalar without quotes and tag. Whole and infinite numbers are still floats; see [`value`].
pub(super) fn plain(text: Cow<'_, str>) -> Value<'_> {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Value::Float(f64::NEG_INFINITY),
        other => number(other).unwrap_or(Value::Str(text)),
    }
}

/// `tag` lacks its prefix `tag:yaml.org,2002:`. The scalar may be quoted.
pub(super) fn tagged<'a>(tag: &str, text: Cow<'a, str>) -> Result<Value<'a>, String> {
    match tag {
        "binary" => binary_text(&text),
        "bool" | "int" | "float" | "null" => match (tag, plain(text.clone())) {
            ("bool", value @ Value::Bool(_))
            | ("null", value @ Value::Null)
            | ("int", value @ (Value::Int(_) | Value::UInt(_)))
            | ("float", value @ (Value::Int(_) | Value::Float(_))) => Ok(value),
            _ => Err(format!("{text:?} does not match its tag !!{tag}")),
        },
        "timestamp" if !timestamp::is_timestamp(&text) => {
            Err(format!("{text:?} does not match its tag !!{tag}"))
        }
        _ => Ok(Value::Str(text)),
    }
}

fn binary_text(text: &str) -> Result<Value<'static>, String> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let bare: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    GeneralPurpose::new(&alphabet::STANDARD, config)
        .decode(bare)
        .map(|bytes| Value::Str(String::from_utf8_lossy(&bytes).into_owned().into()))
        .map_err(|_| "the text after !!binary is not base64".to_owned())
}

/// Returns the value for JSON: a whole float becomes an integer, and an infinite number is an error.
pub(super) fn value(value: Value<'_>) -> Result<Value<'_>, String> {
    match value {
        Value::Float(number) if number.is_finite() => Ok(float(number)),
        Value::Float(_) => {
            Err("infinity and .nan are not numbers in JSON; if this is text, quote it".to_owned())
        }
        other => Ok(other),
    }
}

pub(super) fn key(value: Value<'_>) -> Result<Cow<'_, str>, String> {
    match value {
        Value::Str(text) => Ok(text),
        Value::Bool(on) => Ok(if on { "true" } else { "false" }.into()),
        Value::Int(number) => Ok(number.to_string().into()),
        Value::Float(number) => Ok(go_float32(number).into()),
        Value::Null => Err("a key cannot be empty or null".to_owned()),
        Value::UInt(number) => Err(format!("the number {number} is too large for a key")),
        Value::Seq(_) | Value::Map(_) => Err("a key cannot be a list or a mapping".to_owned()),
    }
}

/// Returns an integer for a whole number, because JSON does not distinguish them.
pub(super) fn float(number: f64) -> Value<'static> {
    /// 2^63, beyond which `as` would not be exact.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    #[allow(clippy::cast_possible_truncation)]
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    }
}

fn number(text: &str) -> Option<Value<'static>> {
    match text.as_bytes().first()? {
        b'.' => dotted(text),
        b'0'..=b'9' | b'+' | b'-' => {
            let bare: Cow<'_, str> =
                if text.contains('_') { text.replace('_', "").into() } else { text.into() };
            integer(&bare).or_else(|| decimal(&bare)).or_else(|| binary(&bare))
        }
        _ => None,
    }
}

/// Parses an integer like Go's `strconv.ParseInt` and `ParseUint` with base 0.
fn integer(text: &str) -> Option<Value<'static>> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // from_str_radix would accept a second sign.
    if !digits.as_bytes().first()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match i64::try_from(i128::from(magnitude) * if negative { -1 } else { 1 }) {
        Ok(number) => Some(Value::Int(number)),
        Err(_) if text.starts_with(['-', '+']) => None,
        Err(_) => Some(Value::UInt(magnitude)),
    }
}

/// Parses `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn decimal(text: &str) -> Option<Value<'static>> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(rest);
    rest = rest.get(whole..)?;
    let mut fraction = 0;
    if let Some(tail) = rest.strip_prefix('.') {
        fraction = digits(tail);
        rest = tail.get(fraction..)?;
    }
    if whole + fraction == 0 {
        return None;
    }
    if let Some(tail) = rest.strip_prefix(['e', 'E']) {
        let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
        rest = tail.get(digits(tail)..).filter(|_| digits(tail) > 0)?;
    }
    let number: f64 = text.parse().ok().filter(|_| rest.is_empty())?;
    number.is_finite().then_some(Value::Float(number))
}

/// Parses a float that starts with the decimal point. As in Go, an underscore is allowed only between two digits.
fn dotted(text: &str) -> Option<Value<'static>> {
    let bytes = text.as_bytes();
    let between_digits = |i: usize| {
        let digit = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_digit);
        digit(i.checked_sub(1)) && digit(i.checked_add(1))
    };
    let mut underscores = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    underscores.all(|(i, _)| between_digits(i)).then(|| decimal(&text.replace('_', "")))?
}

/// Parses the `0b` forms that `integer` refuses, with a sign after the prefix, such as `0b-1`.
fn binary(text: &str) -> Option<Value<'static>> {
    let number = match text.strip_prefix("-0b") {
        Some(digits) if !digits.starts_with(['-', '+']) => i64::from_str_radix(digits, 2).ok()?,
        Some(_) => return None,
        None => i64::from_str_radix(text.strip_prefix("0b")?, 2).ok()?,
    };
    Some(Value::Int(number))
}

/// Formats like Go's `strconv.FormatFloat(number, 'g', -1, 32)`, with YAML's words for infinity and NaN.
fn go_float32(number: f64) -> String {
    #[allow(clippy::cast_possible_truncation)]
    let single = number as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    } else if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{single:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        single.to_string()
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}
