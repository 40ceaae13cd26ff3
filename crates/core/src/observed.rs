//! The objects of a running cluster: DaemonSets and StatefulSets with their status, and for sets
//! that are not healthy also their pods, claims, volumes, revisions and events.
//!
//! Each object is reduced, as soon as it is read, to a few hundred bytes at most. For a set that is
//! healthy according to its status, nothing else is kept.

mod budget;
mod claim;
mod event;
mod managed;
mod member;
mod meta;
mod node;
mod not_ready;
mod pod;
mod prelude;
mod readiness;
mod revision;
mod rollout_status;
mod scaling;
mod store;
mod webhook;
mod workload;

pub(crate) use self::workload::Counts;
pub use self::{
    budget::PodDisruptionBudget,
    claim::{PersistentVolume, PersistentVolumeClaim},
    event::Event,
    member::Member,
    meta::Owner,
    node::Node,
    not_ready::{Ended, NotReadyKind, NotReadyReason},
    pod::Pod,
    revision::Revision,
    rollout_status::{Completion, Phase, RolloutStatus},
    store::Observed,
    webhook::{Call, Endpoints, Webhook},
    workload::WorkloadStatus,
};
pub use self::{
    event::{LONGEST_GAP, LONGEST_WAIT, SLACK, TRY_AGAIN, is_of_ended},
    not_ready::{INITIALIZING, NOT_READY},
    scaling::{NewNode, Scaling},
    workload::{DaemonSet, Ready, StatefulSet, WorkloadState},
};
pub use crate::object::storage_class::StorageClass;
