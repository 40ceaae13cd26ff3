//! What most rules import.

pub(in crate::rules) use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
    sync::LazyLock,
};

pub(in crate::rules) use k8s_openapi::{
    api::core::v1::{Container, PodSpec, PodTemplateSpec, Toleration, Volume, VolumeMount},
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
pub(in crate::rules) use serde_json::json;

pub(in crate::rules) use crate::{
    finding::{
        At, Command, Effect, Facts, Field, Finding, Findings, Fix, Help, Hold, Meta, Mode, Outlook,
        Path, Reason, Value, nearest_of,
        paths::{
            CLAIM_TEMPLATES, METADATA, NODE_TERMS, POD_SPEC, ROLLING_UPDATE, SELECTOR, SPEC,
            STATUS, TEMPLATE, TEMPLATE_LABELS, TOLERATIONS, UPDATE_STRATEGY, VOLUMES,
        },
    },
    inventory::{
        demand::Demand,
        details::Details,
        host_port::HostPort,
        object_summary::{Controller, ObjectSummary},
        view::Freshness,
    },
    kubernetes::{
        absent::{list, text},
        cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET},
        containers::{arguments, containers, is_sidecar, running, visit},
        int_or_percent,
        kind::Kind,
        node_selector::required_terms,
        quantity::Quantity,
        resource::WorkloadKind,
        selector,
    },
    object::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
    observed::{Call, Event, Node, NotReadyKind, Observed, Pod, WorkloadState, WorkloadStatus},
    rollout::node::{Placement, WhyNot},
    rules::{
        neighbors::{
            budgets::Protection, missing::is_missing, nodes::MatchingNodes, services::Governed,
        },
        read,
        rule::{
            Cel, ObjectCheck, OpenKruise, Operation, Phase, Rule, Runner, SETS, Scope,
            inventory::{Evidence, Query},
            status::{Audit, ObjectName, StatusCheck, StatusFinding, StatusFindings, StatusQuery},
        },
        status::{
            daemon_set::Daemons,
            phrases::{at, count, names, one_line, positive, sets_of, since, words},
            refusal::Refusal,
            stateful_set::Replicas,
        },
    },
};
