//! What most files of this module import.

pub(crate) use std::collections::HashMap;

pub(crate) use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
pub(crate) use jiff::Timestamp;
pub(crate) use k8s_openapi::api::core::v1::Pod;
pub(crate) use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
pub(crate) use setguard_testing::prelude::*;
pub(crate) use tokio::time::sleep;

pub(crate) use crate::{
    CONTROLLER_MANAGER, Case, ControlPlane, Dice, Kubelet, Namespace, Output, Process, SCHEDULER,
    SETGUARD, Service, Viewer, add_claim, becomes, client, daemon_set, eventually,
    harness::process::path_with, helm, http, manifests, node, pod, rolled_by, setguard,
    stateful_set, surging, viewer, with, with_app, with_pod, within, words,
};
