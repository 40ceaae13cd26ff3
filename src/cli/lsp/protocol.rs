//! The parameters of the protocol that the server uses.
//!
//! Crates with all types of the protocol take eight times as long to compile as `lsp-server`.

use serde::{Deserialize, Serialize};

/// Counted from 0. The unit of `character` depends on the encoding.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// `end` is exclusive.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: Position,
    pub(super) end: Position,
}

#[derive(Debug, Deserialize)]
pub(super) struct Identifier {
    pub(super) uri: String,
    pub(super) version: Option<i32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidOpen {
    pub(super) text_document: Opened,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Opened {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) language_id: String,
    pub(super) version: Option<i32>,
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidChange {
    pub(super) text_document: Identifier,
    pub(super) content_changes: Vec<Change>,
}

/// Without a range, `text` is the whole new text.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) range: Option<Range>,
    pub(super) text: String,
}

/// The parameters of `didClose` and `didSave`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OfDocument {
    pub(super) text_document: Identifier,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AtPosition {
    pub(super) text_document: Identifier,
    pub(super) position: Position,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InRange {
    pub(super) text_document: Identifier,
    pub(super) range: Range,
    #[serde(default)]
    pub(super) context: ActionContext,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ActionContext {
    /// The wanted kinds of actions; `None` for all.
    pub(super) only: Option<Vec<String>>,
}
