//! What most files of this module import.

pub(crate) use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use anyhow::bail;
pub(crate) use clap::Args;
pub(crate) use jiff::Timestamp;
pub(crate) use kube_yaml::{Document, Mark, Node, Problem};
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::Value;
pub(crate) use setguard_core::{
    catalogue,
    engine::verdict::{Verdict, Violation},
    finding::{Field, Finding, Mode, count},
    inventory::{Inventory, object_summary::ObjectSummary},
    kubernetes::{kind::Kind, resource::Resource, version::Version},
    object::{Object, Workload, namespace_or_default},
    observed::{Member, Pod},
    policy::{FolderNames, Policy},
    rollout::{Action, Course, Health, Revision, Target, Waits, undo::Undo},
};
pub(crate) use setguard_files::prelude::*;
