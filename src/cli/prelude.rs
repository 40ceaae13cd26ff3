//! What most files of this module import.

pub(in crate::cli) use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{self, Write},
    path::{Path, PathBuf},
};

pub(in crate::cli) use anyhow::Context as _;
pub(in crate::cli) use clap::Args;
pub(in crate::cli) use jiff::Timestamp;
pub(in crate::cli) use kube_yaml::Problem;
pub(in crate::cli) use serde::Deserialize;
pub(in crate::cli) use serde_json::{Value, json};
pub(in crate::cli) use setguard_core::{
    catalogue,
    engine::{self, Context, Origin},
    finding::{Meta, Mode},
    kubernetes::resource::Resource,
    object::User,
    policy::Policy,
    printable::Printable,
};
pub(in crate::cli) use setguard_files::{
    exit::Exit,
    manifests::{listing, namespaces::Namespaces},
    policy_file::args::PolicyArgs,
    report,
};
