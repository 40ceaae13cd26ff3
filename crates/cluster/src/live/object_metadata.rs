//! Metadata of objects that are looked for by their annotations.

use std::collections::BTreeMap;

use serde::Deserialize;

/// An object of which only the metadata is read.
#[derive(Debug, Deserialize)]
pub(crate) struct Bare {
    pub(crate) metadata: Metadata,
}

/// The name, the namespace and the annotations of an object.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}
