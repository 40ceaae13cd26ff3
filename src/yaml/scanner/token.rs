//! Tokens.

use std::borrow::Cow;

use crate::yaml::node::Mark;

/// A token, and its position.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) mark: Mark,
    /// How many bytes of the text are before its end.
    pub(crate) end: usize,
}

/// What a token is. A *flow* mapping or list is written in brackets; a *block* is indented.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    /// A `%` that begins a line, and all after it.
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
    /// A key follows.
    Key,
    /// `:`
    Value,
    /// `*name`
    Alias(&'a str),
    /// `&name`
    Anchor(&'a str),
    /// A tag, written in full: `tag:yaml.org,2002:str` for `!!str`.
    Tag(String),
    /// A scalar.
    Scalar(Cow<'a, str>, Style),
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without quotes; it may be a number.
    Plain,
    /// In quotes, or as a block. It is text.
    Text,
}
