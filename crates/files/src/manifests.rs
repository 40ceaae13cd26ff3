//! The objects in files, in folders and on standard input.

pub mod alternatives;
pub mod args;
pub mod clusters;
pub mod document;
mod encoding;
pub(crate) mod excerpt;
pub mod exclude;
pub mod files;
mod folder;
pub mod git;
pub mod group;
pub mod id;
pub mod layout;
pub mod listing;
pub mod namespaces;
pub mod not_a_manifest;
pub mod not_checked;
pub mod objects;
pub mod patches;
pub mod path_context;
mod release_names;
pub mod render;
pub mod replace;
pub mod repository;
pub mod source;
mod versions;
pub mod volumes;
