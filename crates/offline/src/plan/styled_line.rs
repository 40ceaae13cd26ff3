use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols {
    pub(super) moves: &'static str,
    pub(super) stays: &'static str,
    pub(super) arrow: &'static str,
    pub(super) more: &'static str,
}

pub(super) const UNICODE: Symbols =
    Symbols { moves: "●", stays: "○", arrow: "→", more: "…" };
pub(super) const ASCII: Symbols = Symbols { moves: "*", stays: "=", arrow: "->", more: "..." };

/// The role of a piece of text. Each role has a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tone {
    Plain,
    Title,
    /// A value before the change.
    Old,
    /// A value after the change, or created pods.
    New,
    /// Replaced pods.
    Moves,
    Stays,
    Caution,
    /// A failure, a loss, or deleted pods.
    Bad,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Line(Vec<(Tone, String)>);

impl Line {
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Line::default().and(tone, text)
    }

    /// Creates a line for created, replaced or deleted pods.
    pub(super) fn moves(symbols: Symbols, tone: Tone, text: &str) -> Self {
        Line::new(tone, symbols.moves).and(Tone::Plain, format!(" {text}"))
    }

    /// Creates a line that begins with the mark for unchanged pods.
    pub(super) fn stays(symbols: Symbols, text: &str) -> Self {
        Line::new(Tone::Stays, symbols.stays).and(Tone::Plain, format!(" {text}"))
    }

    pub(super) fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.0.push((tone, text.into()));
        self
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = (Tone, &str)> {
        self.0.iter().map(|(tone, text)| (*tone, text.as_str()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

const MOST_NAMES: usize = 8;

/// Returns the names, or the first and last name of a long list.
pub(super) fn list(names: &[String], symbols: Symbols) -> String {
    if names.len() <= MOST_NAMES {
        return names.join(" ");
    }
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return String::new() };
    format!("{first} {} {last} ({} of them)", symbols.more, names.len())
}
