//! Keeps text that somebody else wrote from steering the terminal that shows it.
//!
//! A name may contain control characters, which a terminal obeys instead of showing them, and
//! characters that set the direction of text, which show a line in another order than it has.

use std::io::{self, Write};

/// A writer that replaces these characters, except tabs and line breaks, by an escape such as
/// `\u009b`, which is valid in a JSON string too. It never splits what it is given.
#[derive(Clone, Debug)]
pub struct Printable<W> {
    inner: W,
    styled: bool,
}

impl<W> Printable<W> {
    /// For text without styles.
    pub const fn new(inner: W) -> Self {
        Printable { inner, styled: false }
    }

    /// For text with styles: it may contain ESC, so others must have been removed before.
    pub const fn styled(inner: W) -> Self {
        Printable { inner, styled: true }
    }

    /// What it was made for.
    pub fn into_inner(self) -> W {
        self.inner
    }

    fn replaces(&self, c: char) -> bool {
        match c {
            '\n' | '\t' => false,
            '\x1b' => !self.styled,
            _ => c.is_control() || is_directional(c),
        }
    }
}

/// Whether a character sets the direction of the text around it, or breaks the line.
pub(crate) const fn is_directional(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without a way out of the loop, the compiler looks at many bytes at a time.
        let is_plain = |b: &u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
        if bytes.iter().fold(true, |plain, byte| plain & is_plain(byte)) {
            self.inner.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut text = String::with_capacity(bytes.len());
        for c in String::from_utf8_lossy(bytes).chars() {
            if self.replaces(c) {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            } else {
                text.push(c);
            }
        }
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_terminal_would_obey_is_replaced() {
        let mut plain = Printable::new(Vec::new());
        let mut styled = Printable::styled(Vec::new());
        let text = "\u{9b}31m \u{202e}é日\t\x1b[1m\x07\u{7f}\u{2067}\u{200f}\u{2028}\n";
        plain.write_all(text.as_bytes()).unwrap();
        styled.write_all(text.as_bytes()).unwrap();
        let expected = "\\u009b31m \\u202eé日\t\\u001b[1m\\u0007\\u007f\\u2067\\u200f\\u2028\n";
        assert_eq!(String::from_utf8(plain.inner).unwrap(), expected);
        let expected = expected.replace("\\u001b", "\x1b");
        assert_eq!(String::from_utf8(styled.inner).unwrap(), expected);
    }
}
