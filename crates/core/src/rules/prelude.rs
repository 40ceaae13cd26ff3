//! What most rules import.

pub(in crate::rules) use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::LazyLock,
};

pub(in crate::rules) use k8s_openapi::{
    api::core::v1::{Container, PodSpec, PodTemplateSpec, Toleration, Volume, VolumeMount},
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};

pub(in crate::rules) use super::{
    read,
    rule::{
        Cel, ObjectCheck, OpenKruise, Operation, Phase, Rule, Runner, SETS, Scope,
        inventory::{Evidence, InventoryFindings, Query},
        status::{Audit, ObjectName, Report, StatusCheck, StatusFindings, StatusQuery},
    },
    status::{
        daemon_set::Daemons,
        phrases::{at, count, names, one_line, positive, sets_of, since, words},
        refusal::Refusal,
        stateful_set::Replicas,
    },
};
pub(in crate::rules) use crate::{
    finding::{
        At, Command, Effect, Facts, Field, Finding, Findings, Fix, Help, Hold, Meta, Mode, Outlook,
        Path, Reason, Value, nearest_of,
        paths::{
            CLAIM_TEMPLATES, METADATA, POD_SPEC, ROLLING_UPDATE, SELECTOR, SPEC, STATUS, TEMPLATE,
            TEMPLATE_LABELS, TOLERATIONS, UPDATE_STRATEGY, VOLUMES,
        },
    },
    inventory::object_summary::ObjectSummary,
    kubernetes::{
        absent::{list, text},
        cluster::Cluster,
        containers::{arguments, containers, is_sidecar, running, visit},
        int_or_percent,
        kind::Kind,
        quantity::Quantity,
        resource::WorkloadKind,
        selector,
    },
    object::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
    observed::{Event, Node, NotReadyKind, Observed, Pod, WorkloadState, WorkloadStatus},
    rollout::node::{Placement, WhyNot},
};
