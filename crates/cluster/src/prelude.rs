//! What most files of this module import.

pub(crate) use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

pub(crate) use anyhow::{Context as _, anyhow, bail};
pub(crate) use futures::StreamExt as _;
pub(crate) use jiff::{SignedDuration, Timestamp};
pub(crate) use kube::{Client, core};
pub(crate) use parking_lot::Mutex;
pub(crate) use serde::Deserialize;
pub(crate) use serde_json::{Value, json};
pub(crate) use setguard_core::{
    finding::Facts,
    inventory::object_summary::ObjectSummary,
    kubernetes::{kind::Kind, resource::WorkloadKind},
    observed::{Observed, WorkloadStatus},
    policy::Policy,
    rules::rule::status::{Audit, ObjectName},
};
pub(crate) use setguard_files::report::diagnostic::{Diagnostic, Severity};
pub(crate) use tokio::time::{sleep, timeout};

pub(crate) use crate::{
    live::{
        call::Problem,
        collections::Collection,
        named::Named,
        reader::{List, Reader},
        times::Times,
    },
    wait::selection::Target,
};
