//! What most files of this module import.

pub(in crate::inventory) use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub(in crate::inventory) use k8s_openapi::{
    api::core::v1::{Container, PodSpec},
    apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
};
pub(in crate::inventory) use serde::Deserialize;

pub(in crate::inventory) use crate::{
    finding::{
        Field, Path,
        paths::{POD_SPEC, VOLUMES},
    },
    inventory::{
        host_port::HostPort,
        index::Key,
        labels::{Bucket, Labels, Selector},
        node::Node,
        nodes::Nodes,
        object_summary::{Controller, ObjectSummary, Role},
        store::Inventory,
    },
    kubernetes::{
        absent::list,
        containers::{containers, visit},
        kind::Kind,
    },
    object::storage_class::StorageClass,
};
