use std::{borrow::Cow, ops::Range};

use crate::node::Mark;

#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) mark: Mark,
    /// Its bytes in the text of the scanner; empty for a token without text.
    pub(crate) bytes: Range<usize>,
}

/// The kind of a token. A *flow* mapping or list is written in brackets; a *block* is indented.
#[derive(Debug, PartialEq)]
pub enum Kind<'a> {
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    /// A line that begins with `%`, and all text after it.
    Directive,
    /// The end of the text.
    End,
    /// A block mapping begins.
    BlockMapping,
    /// A block list begins.
    BlockList,
    /// A block ends.
    BlockEnd,
    /// `{`
    FlowMapping,
    /// `}`
    FlowMappingEnd,
    /// `[`
    FlowList,
    /// `]`
    FlowListEnd,
    /// `- `
    BlockEntry,
    /// `,`
    FlowEntry,
    /// Precedes a key, with or without a `?` in the text.
    Key,
    /// `:`
    Value,
    /// `*name`
    Alias(&'a str),
    /// `&name`
    Anchor(&'a str),
    /// A tag, written in full: `tag:yaml.org,2002:str` for `!!str`.
    Tag(String),
    /// Text, a number, or any other single value.
    Scalar(Cow<'a, str>, Style),
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes, so it may be a number.
    Plain,
    /// In quotes or in a block, so it is text.
    Text,
}
