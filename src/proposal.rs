//! The object that the API server is asked to store for a manifest.

pub mod apply;
