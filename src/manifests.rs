//! The objects in files, in folders and on standard input.

pub(crate) mod alternatives;
pub(crate) mod clusters;
pub(crate) mod document;
mod encoding;
pub(crate) mod excerpt;
pub(crate) mod exclude;
pub(crate) mod files;
mod folder;
pub(crate) mod git;
pub(crate) mod group;
pub(crate) mod id;
pub(crate) mod layout;
pub(crate) mod listing;
pub mod namespaces;
pub(crate) mod not_a_manifest;
pub(crate) mod not_checked;
pub(crate) mod objects;
pub(crate) mod patches;
pub(crate) mod path_context;
mod release_names;
pub(crate) mod replace;
pub(crate) mod repository;
pub(crate) mod source;
mod versions;
pub mod volumes;
