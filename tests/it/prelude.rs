//! What most files of this module import.

pub(crate) use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufReader, Read as _, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

pub(crate) use axum::body::Body;
pub(crate) use base64::{Engine as _, engine::general_purpose::STANDARD};
pub(crate) use jiff::{Timestamp, civil::date};
pub(crate) use serde_json::{Value, json};
pub(crate) use setguard::{
    catalogue,
    engine::Context,
    finding::{Findings, Mode},
    kubernetes::{cluster::Cluster, kind::Kind, resource::Resource},
    object::{Object, Subject},
    policy::Policy,
    rules::{api_validation::API_VALIDATION, traps},
    yaml,
};
pub(crate) use setguard_testing::recorded::snapshot;

pub(crate) use crate::folder::{Folder, Ran, on_delete};
