//! What most files of this module import.

pub(crate) use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

pub(crate) use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
pub(crate) use jiff::Timestamp;
pub(crate) use k8s_openapi::api::core::v1::Pod;
pub(crate) use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
pub(crate) use serde_json::{Value, json};
pub(crate) use tokio::time::sleep;

pub(crate) use crate::{
    CONTROLLER_MANAGER, ControlPlane, Dice, Namespace, Output, SCHEDULER, SETGUARD, Service,
    becomes, daemon_set, eventually, pod, setguard, stateful_set, surging, with_app,
};
