//! Values as the API server prints them.

use std::{fmt, io};

use serde::Serialize;

/// A value in a message.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Text in quotes.
    Str(&'a str),
    Int(i64),
    /// Anything else, as JSON.
    Json(String),
}

impl Value<'_> {
    /// Creates a value that is printed as Go prints JSON: `<`, `>`, `&` and the line separators are escaped.
    pub fn json(value: &impl Serialize) -> Value<'static> {
        let mut out = Beginning(Vec::new());
        let whole = serde_json::to_writer(&mut out, value).is_ok();
        let mut text = String::from_utf8_lossy(&out.0).into_owned();
        if !whole {
            text.push('…');
        }
        let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Value::Json(text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
    }
}

/// The limit for a value. Messages are cut to fewer bytes.
const MAX_BYTES: usize = 64 << 10;

/// Once it is full, writing fails.
struct Beginning(Vec<u8>);

impl io::Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_BYTES - self.0.len();
        let fitting = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.0.extend_from_slice(fitting);
        Ok(fitting.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Str(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Str(value)
    }
}

impl From<i32> for Value<'_> {
    fn from(value: i32) -> Self {
        Value::Int(value.into())
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Str(text) => quote(text, f),
            Value::Int(number) => write!(f, "{number}"),
            Value::Json(text) => f.write_str(text),
        }
    }
}

/// Quotes text like Go's `%q` (`strconv.Quote`), because the API server's messages do.
fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    let beginning = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or_default();
    for c in beginning.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\x07' => f.write_str("\\a")?,
            '\x08' => f.write_str("\\b")?,
            '\x0c' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\x0b' => f.write_str("\\v")?,
            c if c.is_ascii_control() => write!(f, "\\x{:02x}", c as u32)?,
            c if is_printable(c) => write!(f, "{c}")?,
            c if (c as u32) < 0x10000 => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "\\U{:08x}", c as u32)?,
        }
    }
    f.write_str(if beginning.len() < text.len() { "…" } else { "\"" })
}

/// `strconv.IsPrint` in Go. Rust's `escape_debug` agrees, except that it escapes a combining character at the beginning
/// of a text.
fn is_printable(c: char) -> bool {
    c.is_ascii() || ["x", c.encode_utf8(&mut [0; 4])].concat().escape_debug().nth(1) == Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        let quoted = |text| Value::Str(text).to_string();
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("\x07\x00\x7f"), r#""\a\x00\x7f""#);
        assert_eq!(quoted("é\u{a0}\u{85}"), "\"é\\u00a0\\u0085\"");
        assert_eq!(quoted("\u{301}\u{200b}\u{feff}"), "\"\u{301}\\u200b\\ufeff\"");
        assert_eq!(quoted("a\u{10ffff}😀"), "\"a\\U0010ffff😀\"");
    }
}
