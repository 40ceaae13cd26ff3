//! What most files of this module import.

pub(crate) use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

pub(crate) use anyhow::bail;
pub(crate) use futures::StreamExt as _;
pub(crate) use jiff::{SignedDuration, Timestamp};
pub(crate) use kube::{Client, core};
pub(crate) use parking_lot::Mutex;
pub(crate) use serde::Deserialize;
pub(crate) use serde_json::{Value, json};
pub(crate) use setguard_core::{
    kubernetes::{kind::Kind, resource::WorkloadKind},
    observed::{Observed, WorkloadStatus},
    policy::Policy,
    rules::rule::status::ObjectName,
};
pub(crate) use tokio::time::{sleep, timeout};
