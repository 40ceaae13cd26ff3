//! Decodes JSON to types, unless the result would take too much memory.

use serde::Deserialize;

use super::{
    lazy_json::LazyJson,
    metadata::{Metadata, Str},
    size::{self, ObjectSize},
};

/// The reason why an object does not decode as the expected resource.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The text is not JSON, or a field has the wrong type.
    #[error("the object cannot be read as a {kind}: {source}")]
    Json {
        kind: &'static str,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The object is too large to read; see [`size`].
    #[error("the object is too large to evaluate")]
    TooLarge(Box<ObjectSize>),
    /// The object has a different kind.
    #[error("expected {expected}, got apiVersion {api_version:?}, kind {kind:?}")]
    Kind {
        /// The expected resource, such as `an apps/v1 DaemonSet`.
        expected: String,
        /// The object's `apiVersion`.
        api_version: String,
        /// The object's `kind`.
        kind: String,
    },
}

pub(crate) fn decode<'a, T: Deserialize<'a>>(
    kind: &'static str,
    json: &'a str,
) -> Result<T, DecodeError> {
    let wrong = |source| DecodeError::Json { kind, source };
    if let Some(size) = size::too_large(json).map_err(wrong)? {
        return Err(DecodeError::TooLarge(Box::new(size)));
    }
    serde_json::from_str(json).map_err(wrong)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a, S: Deserialize<'de>"))]
pub(crate) struct RawObject<'a, S> {
    pub(super) api_version: Option<Str<'a>>,
    pub(super) kind: Option<Str<'a>>,
    pub(super) metadata: Option<Metadata<'a>>,
    pub(super) spec: Option<S>,
    pub(super) status: LazyJson<'a>,
}
