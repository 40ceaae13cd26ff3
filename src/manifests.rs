//! Objects of a file, of a folder, of a stream of documents.

pub(crate) mod document;
pub(crate) mod id;
pub mod namespaces;
pub(crate) mod objects;
pub(crate) mod source;
