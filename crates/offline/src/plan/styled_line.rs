//! A line of a picture, in pieces that a terminal can distinguish by colour.

use std::fmt;

/// The symbols of a picture.
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

/// The role of a piece, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Text without a special role.
    Plain,
    /// The name of the object.
    Title,
    /// A value before the change.
    Old,
    /// A value after the change, and pods that are created.
    New,
    /// Pods that are replaced.
    Moves,
    /// The mark of pods that stay as they are.
    Stays,
    /// A risk.
    Caution,
    /// A failure or a loss, and pods that are deleted.
    Bad,
}

/// A line of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Tone, String)>);

impl Line {
    /// Creates a line in one tone.
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Line::default().and(tone, text)
    }

    /// Creates a line for pods that are created, replaced or deleted, with the tone for that.
    pub(super) fn moves(symbols: Symbols, tone: Tone, text: &str) -> Self {
        Line::new(tone, symbols.moves).and(Tone::Plain, format!(" {text}"))
    }

    /// Creates a line for something that stays, which begins with the mark for that.
    pub(super) fn stays(symbols: Symbols, text: &str) -> Self {
        Line::new(Tone::Stays, symbols.stays).and(Tone::Plain, format!(" {text}"))
    }

    /// Adds a piece to the line.
    pub(super) fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.0.push((tone, text.into()));
        self
    }

    /// Returns the pieces from left to right.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Tone, &str)> {
        self.0.iter().map(|(tone, text)| (*tone, text.as_str()))
    }

    /// Returns whether the line has no text.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Line::new(Tone::Plain, text)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}
