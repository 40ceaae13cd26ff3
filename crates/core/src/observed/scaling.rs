//! The answers of autoscalers of nodes to pods that have no place, and preemption.

use super::{
    event::{CREATED, Event, LONGEST_WAIT, NOMINATED, NOT_SCALED_UP, PREEMPTED, SCALED_UP, SLACK},
    pod::Pod,
    store::Observed,
    workload::WorkloadStatus,
};
use crate::kubernetes::kind::Kind;

/// The time that a new node may take, in seconds. Then both autoscalers give it up and try another.
///
/// Cluster Autoscaler: `--max-node-provision-time`; Karpenter: `registrationTTL`, pkg/controllers/nodeclaim/lifecycle.
const LONGEST: i64 = 900;
/// The beginning of a warning of Karpenter. The scheduler's have the same reason.
const KARPENTER: &str = "Failed to schedule pod, ";

/// The last answer of an autoscaler of nodes to a pod that has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling<'a> {
    /// The name of the autoscaler.
    pub by: &'static str,
    /// Whether a node is coming.
    pub node: NewNode,
    /// The time of the answer, in seconds since 1970.
    pub(crate) at: i64,
    /// The details: the node or its group, or why none is added.
    pub message: &'a str,
}

/// The node that an autoscaler adds for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewNode {
    /// The node may come until this second.
    Coming(i64),
    /// The node should have come.
    Late,
    /// No node is added.
    Refused,
}

impl<'a> Scaling<'a> {
    /// Reads an answer. A refusal is repeated as long as it is true, so an old one is history.
    fn of(event: &'a Event, now: i64) -> Option<Self> {
        let cluster_autoscaler = "the cluster autoscaler";
        let (by, adds_node, prefix) = match &*event.reason {
            SCALED_UP => (cluster_autoscaler, true, "pod triggered scale-up: "),
            NOT_SCALED_UP => (cluster_autoscaler, false, "pod didn't trigger scale-up: "),
            NOMINATED => ("Karpenter", true, "Pod should schedule on: "),
            "FailedScheduling" if event.message.starts_with(KARPENTER) => {
                ("Karpenter", false, KARPENTER)
            }
            _ => return None,
        };
        let message = event.message.strip_prefix(prefix).unwrap_or(&event.message);
        let after = |seconds| event.last.saturating_add(seconds);
        let node = match adds_node {
            true if after(LONGEST) > now => NewNode::Coming(after(LONGEST)),
            true => NewNode::Late,
            false if after(LONGEST_WAIT + SLACK) > now => NewNode::Refused,
            false => return None,
        };
        Some(Scaling { by, node, at: event.last, message })
    }
}

impl Observed {
    /// Returns the last answer of an autoscaler to a pod, as of this second.
    pub fn scaling(&self, namespace: &str, pod: &Pod, now: i64) -> Option<Scaling<'_>> {
        let notes = self.notes(namespace, Kind::Pod, &pod.name).iter();
        let all = notes.chain(self.events(namespace, Kind::Pod, &pod.name));
        let answers = all.filter_map(|event| Scaling::of(event, now));
        answers.filter(|it| it.at >= pod.created).max_by_key(|it| it.at)
    }

    /// Returns the events about the creation of pods of a StatefulSet, one for each name.
    pub(crate) fn creations(&self, set: &WorkloadStatus) -> impl Iterator<Item = &Event> {
        let notes = self.notes(set.namespace(), set.kind().into(), set.name()).iter();
        notes.filter(|it| &*it.reason == CREATED)
    }

    /// Returns the preemption of the pod that had the name of this one before.
    pub(crate) fn preemption(&self, namespace: &str, pod: &Pod) -> Option<&Event> {
        let mut notes = self.notes(namespace, Kind::Pod, &pod.name).iter();
        notes.find(|it| &*it.reason == PREEMPTED)
    }
}
