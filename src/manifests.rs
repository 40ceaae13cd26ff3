//! Objects of a file, of a folder, of a stream.

pub mod document;
pub mod namespaces;
pub mod source;
