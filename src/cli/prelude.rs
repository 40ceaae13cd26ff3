//! What most files of this module import.

pub(in crate::cli) use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::{Path, PathBuf},
};

pub(in crate::cli) use anyhow::Context as _;
pub(in crate::cli) use clap::Args;
pub(in crate::cli) use serde::Deserialize;
pub(in crate::cli) use serde_json::{Value, json};
pub(in crate::cli) use setguard_core::{
    catalogue,
    finding::{Meta, Mode},
    kubernetes::resource::Resource,
    policy::Policy,
};
pub(in crate::cli) use setguard_files::{
    exit::Exit, manifests::namespaces::Namespaces, policy_file::args::PolicyArgs,
};
