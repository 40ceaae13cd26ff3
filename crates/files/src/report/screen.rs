//! The width of a terminal, and lines that break between words.

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling::{AnsiColor, Style};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::report::prelude::*;

/// Continuation lines align behind a name such as `= help: ` up to this width.
const LONGEST_NAME: usize = 10;
/// Below this width, lines are left as they are.
const NARROWEST: usize = 30;

/// The place where text is shown.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// The number of columns. `None` for lines of any length, as in a file.
    width: Option<usize>,
}

impl Screen {
    /// Returns the screen of standard output. A stream with colors counts as a terminal. `COLUMNS` sets its width if
    /// the system knows none.
    pub fn of_stdout(is_terminal: bool, colors: ColorChoice) -> Self {
        let of_system = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let of_user = || env::var("COLUMNS").ok().and_then(|it| it.parse().ok());
        let is_watched = is_terminal || colors != ColorChoice::Never;
        let width = if is_terminal { of_system.or_else(of_user) } else { of_user() };
        Screen::of_width(width.filter(|_| is_watched))
    }

    const fn of_width(width: Option<usize>) -> Self {
        match width {
            Some(width) if width >= NARROWEST => Screen { width: Some(width) },
            _ => Screen::unlimited(),
        }
    }

    pub(crate) const fn unlimited() -> Self {
        Screen { width: None }
    }

    /// Breaks a line between words, and indents the lines after the first.
    pub fn fit(self, line: &str, indent: usize) -> String {
        let Some(width) = self.width else { return line.to_owned() };
        let indent = " ".repeat(indent);
        let options = Options::new(width)
            .subsequent_indent(&indent)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        textwrap::fill(line, options)
    }

    /// Makes one line of each paragraph and each item of a list, to be broken by [`Screen::fit`]. Without a width, the
    /// lines stay.
    pub fn paragraphs(self, text: &str) -> String {
        let mut joined: Vec<String> = Vec::new();
        for line in text.trim_end().lines() {
            match joined.last_mut() {
                Some(last)
                    if self.width.is_some()
                        && !last.is_empty()
                        && !line.is_empty()
                        && !line.starts_with("- ") =>
                {
                    last.push(' ');
                    last.push_str(line.trim_start());
                }
                _ => joined.push(line.to_owned()),
            }
        }
        joined.join("\n")
    }

    /// Breaks the sentences of a rendered finding: its title, and lines that begin with `=`. Source lines stay.
    pub(crate) fn fit_finding(self, rendered: &str) -> String {
        let plain = |line| anstream::adapter::strip_str(line).to_string();
        let lines = rendered.lines().map(|line| match hanging(&plain(line)) {
            Some(indent) => self.fit(line, indent),
            None => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Prints a diff: with colors and without control characters, or every byte where a program reads it.
pub fn print_diff(diff: &[u8]) -> io::Result<()> {
    let stdout = io::stdout();
    let choice = AutoStream::choice(&stdout);
    if choice == ColorChoice::Never && !stdout.is_terminal() {
        return stdout.lock().write_all(diff);
    }
    let mut escaped = Printable::new(Vec::new());
    escaped.write_all(diff)?;
    let mut out = AutoStream::new(stdout, choice);
    for line in String::from_utf8_lossy(&escaped.into_inner()).lines() {
        let style = match line.chars().next() {
            Some('+') => AnsiColor::Green.on_default(),
            Some('-') => AnsiColor::Red.on_default(),
            Some('@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        writeln!(out, "{style}{line}{style:#}")?;
    }
    Ok(())
}

/// Returns the indent of continuation lines, if the line is a sentence.
fn hanging(line: &str) -> Option<usize> {
    let start = line.trim_start();
    let before = line.len() - start.len();
    let names = ["error", "warning", "note", "help"];
    if before == 0 && names.iter().any(|it| start.starts_with(it)) {
        return Some(4);
    }
    let (head, _) = start.strip_prefix("= ")?.split_once(": ")?;
    let named = "= : ".len() + head.len();
    Some(before + if named <= LONGEST_NAME { named } else { 4 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_styles_have_no_width() {
        let screen = Screen::of_width(Some(30));
        assert_eq!(
            screen.fit("one two three four five six seven", 4),
            "one two three four five six\n    seven"
        );
        let styled = "\u{1b}[1m\u{1b}[91merror\u{1b}[0m one two three four fives sixteen";
        assert_eq!(screen.fit(styled, 2).lines().count(), 2);
        let long = "x".repeat(90);
        assert_eq!(screen.fit(&format!("a {long} b"), 1), format!("a\n {long}\n b"));
        assert_eq!(Screen::unlimited().fit(styled, 2), styled);
        assert_eq!(Screen::of_width(Some(8)).fit("one two three", 2), "one two three");
    }

    #[test]
    fn only_sentences_of_a_finding_break() {
        let source = "12 |   image: a b c d e f g h i j k l m n o p q r s";
        let finding = format!(
            "error[x]: one two three four five six\n{source}\n   = help: use one two three four five"
        );
        assert_eq!(
            Screen::of_width(Some(30)).fit_finding(&finding),
            format!(
                "error[x]: one two three four\n    five six\n{source}\n   = help: use one two three\n           four five"
            )
        );
    }
}
