//! Prevents untrusted text from steering the terminal that shows it.
//!
//! A name may contain control characters that a terminal obeys; characters that set the direction of text, so that a
//! line reads in a misleading order; and invisible characters, so that two names look the same.

use std::{
    borrow::Cow,
    io::{self, Write},
};

/// A writer that escapes these characters, except tabs and line breaks, as for example `\u009b`. The escape is valid in
/// a JSON string too. The writer never splits its input.
///
/// A CI log can also take a line for a command. So the output never contains the sequences that some runners search for
/// anywhere in a line, such as `##[` and `##vso[`.
#[derive(Clone, Debug)]
pub struct Printable<W> {
    inner: W,
    styled: bool,
    /// A line must not begin with a colon.
    guarded: bool,
    /// The line so far is only white space and styles.
    at_start: bool,
    /// A style has begun and not ended. A stream may remove it later.
    in_style: bool,
    command: Command,
}

impl<W> Printable<W> {
    /// Creates a writer for text without styles.
    pub const fn new(inner: W) -> Self {
        Printable {
            inner,
            styled: false,
            guarded: false,
            at_start: true,
            in_style: false,
            command: Command::None,
        }
    }

    /// Creates a writer for styled text with ESC. The caller must have removed any other ESC.
    pub const fn styled(inner: W) -> Self {
        let mut printable = Printable::new(inner);
        printable.styled = true;
        printable
    }

    /// Keeps lines of text for people from beginning with a command such as `::stop-commands::`.
    #[must_use]
    pub fn guarded(self) -> Self {
        Printable { guarded: true, ..self }
    }

    /// Returns the inner writer.
    pub fn into_inner(self) -> W {
        self.inner
    }

    fn follow(&mut self, c: char) {
        if self.in_style {
            self.in_style = !c.is_ascii_alphabetic();
        } else if c == '\x1b' && self.styled {
            self.in_style = true;
        } else {
            self.command = self.command.then(c);
            self.at_start = c == '\n' || self.at_start && c.is_whitespace();
        }
    }

    fn replaces(&self, c: char) -> bool {
        match c {
            '\n' | '\t' => false,
            '\x1b' => !self.styled,
            ':' => self.guarded && self.at_start,
            _ => is_steering(c),
        }
    }
}

fn is_steering(c: char) -> bool {
    c.is_control() || is_unseen(c)
}

/// Returns whether a character is invisible, sets the direction of the text around it, or breaks the line.
pub const fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns an untrusted text in one line: line breaks and tabs are escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_steering) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_steering(c) { escape(c, &mut line) } else { line.push(c) }
    }
    Cow::Owned(line)
}

fn escape(c: char, text: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        text.push_str(&format!("\\u{unit:04x}"));
    }
}

/// How much of a command the end of the output may be: `##`, a word such as `vso`, and a bracket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Command {
    #[default]
    None,
    Hash,
    Hashes,
    Word,
}

impl Command {
    const fn then(self, c: char) -> Self {
        match (self, c) {
            (Command::Hash | Command::Hashes, '#') => Command::Hashes,
            (_, '#') => Command::Hash,
            (Command::Hashes | Command::Word, c) if c.is_ascii_alphabetic() => Command::Word,
            _ => Command::None,
        }
    }

    const fn is_open(self) -> bool {
        matches!(self, Command::Hashes | Command::Word)
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without an early exit, the compiler can vectorize this loop.
        let is_plain = |b: &u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
        let plain = bytes.iter().fold(true, |plain, byte| plain & is_plain(byte));
        let may_begin =
            || bytes.last() == Some(&b'#') || memchr::memmem::find(bytes, b"##").is_some();
        if plain && !self.guarded && self.command == Command::None && !may_begin() {
            self.inner.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut text = String::with_capacity(bytes.len());
        for c in String::from_utf8_lossy(bytes).chars() {
            if self.replaces(c) || c == '[' && self.command.is_open() && !self.in_style {
                escape(c, &mut text);
            } else {
                text.push(c);
            }
            self.follow(c);
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
        let text = "\u{9b}31m \u{202e}é日\t\x1b[1m\x07\u{7f}\u{2067}\u{200b}\u{2028}\u{e0041}\n";
        plain.write_all(text.as_bytes()).unwrap();
        styled.write_all(text.as_bytes()).unwrap();
        let expected =
            "\\u009b31m \\u202eé日\t\\u001b[1m\\u0007\\u007f\\u2067\\u200b\\u2028\\udb40\\udc41\n";
        assert_eq!(String::from_utf8(plain.inner).unwrap(), expected);
        let expected = expected.replace("\\u001b", "\x1b");
        assert_eq!(String::from_utf8(styled.inner).unwrap(), expected);
    }

    #[test]
    fn no_line_is_a_command_of_a_pipeline() {
        let written = |guarded: bool, pieces: &[&str]| {
            let printable = Printable::new(Vec::new());
            let mut printable = if guarded { printable.guarded() } else { printable };
            pieces.iter().for_each(|piece| printable.write_all(piece.as_bytes()).unwrap());
            String::from_utf8(printable.inner).unwrap()
        };
        let commands = ["::stop-commands::x\na: b\n ", "  ::error::y\n", "a ::b\n"];
        let expected = "\\u003a:stop-commands::x\na: b\n   \\u003a:error::y\na ::b\n";
        assert_eq!(written(true, &commands), expected);
        assert_eq!(written(false, &commands), commands.concat());
        let mut styled = Printable::styled(Vec::new()).guarded();
        styled.write_all(b"\x1b[1m::a\x1b[0m ::b\n  \x1b[31m:c").unwrap();
        let expected = b"\x1b[1m\\u003a:a\x1b[0m ::b\n  \x1b[31m\\u003ac";
        assert_eq!(styled.inner, expected, "a stream may remove the styles");
        let mut styled = Printable::styled(Vec::new());
        styled.write_all(b"##\x1b[1mvso\x1b[0m[x").unwrap();
        assert_eq!(styled.inner, b"##\x1b[1mvso\x1b[0m\\u005bx");
        for guarded in [false, true] {
            let text = "##[group]a ##vso[task] ##teamcity[x] ## [b] #[c]\n";
            let expected = "##\\u005bgroup]a ##vso\\u005btask] ##teamcity\\u005bx] ## [b] #[c]\n";
            assert_eq!(written(guarded, &[text]), expected);
            assert_eq!(written(guarded, &["a#", "#", "vso", "[x"]), "a##vso\\u005bx");
        }
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(one_line("db"), "db");
        assert_eq!(
            one_line("a\r\nb\t\u{2028}\x1b\u{85}"),
            "a\\u000d\\u000ab\\u0009\\u2028\\u001b\\u0085"
        );
    }
}
