//! What most files of this module import.

pub(in crate::observed) use std::collections::BTreeMap;

pub(in crate::observed) use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
pub(in crate::observed) use serde::{Deserialize, de::IgnoredAny};

pub(in crate::observed) use crate::{
    kubernetes::{kind::Kind, resource::WorkloadKind},
    object::whole::Whole,
    observed::{
        event::About,
        meta::{Metadata, Name, Owner},
        pod::Pod,
        store::Observed,
        workload::WorkloadStatus,
    },
};
