//! What most files of the validation import.

pub(super) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) use k8s_openapi::{
    api::core::v1::{Container, PersistentVolumeClaim, PodSpec, ResourceRequirements, Volume},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

pub(super) use super::pod::{
    context::PodContext,
    options::Options,
    util::{
        Seen, each, file_mode, filled, finds_nothing, is_reserved, label, label_key,
        label_selector, list, local_path, named, one_of, pull_policy, required, required_one_of,
        secret_ref, subdomain, text, unix_id, visit,
    },
    volumes::Volumes,
};
pub(super) use crate::{
    finding::{
        At, Findings, Path, Value,
        paths::{POD_SPEC, TEMPLATE, VOLUMES},
    },
    kubernetes::{
        cluster::{Cluster, since},
        containers::{containers, is_sidecar},
        labels, names, pod_affinity,
        quantity::Quantity,
        selector,
    },
    object::{Object, StatefulSetSpec},
};
