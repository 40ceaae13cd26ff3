//! Tokens.

use std::borrow::Cow;

use crate::node::Mark;

/// A token, and its position.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) mark: Mark,
    /// The number of bytes of the text before the token's end.
    pub(crate) end: usize,
}

/// The kind of a token. A *flow* mapping or list is written in brackets; a *block* is indented.
#[derive(Debug, PartialEq)]
pub enum Kind<'a> {
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    /// A line that begins with `%`, and the rest of the text.
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

/// The style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes, which may be a number.
    Plain,
    /// A scalar in quotes, or in a block, which is text.
    Text,
}
