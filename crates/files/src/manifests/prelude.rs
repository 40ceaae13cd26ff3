//! What most files of this module import.

pub(in crate::manifests) use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

pub(in crate::manifests) use kube_yaml::{Mark, Node, Value};
pub(in crate::manifests) use setguard_core::policy::FolderNames;
pub(in crate::manifests) use walkdir::WalkDir;

pub(in crate::manifests) use crate::manifests::{
    exclude::whole, files, group::Group, layout::clean, patches::items, render::root::Root,
    source::Source,
};
