//! What most rules import.

pub(in crate::rules) use crate::{
    finding::{
        Effect, Facts, Findings, Fix, Help, Hold, Meta, Mode, Outlook, Path, Reason, Value,
        paths::{
            CLAIM_TEMPLATES, POD_SPEC, ROLLING_UPDATE, SELECTOR, SPEC, STATUS, TEMPLATE,
            TOLERATIONS, VOLUMES,
        },
    },
    kubernetes::{cluster::Cluster, kind::Kind, resource::WorkloadKind},
    object::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
    rules::{
        read,
        rule::{
            Cel, ObjectCheck, OpenKruise, Operation, Phase, Rule, Runner, Scope,
            inventory::{Evidence, InventoryFindings, Query},
            status::{Audit, Report, StatusCheck, StatusFindings, StatusQuery},
        },
    },
};
