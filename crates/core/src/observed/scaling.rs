//! How node autoscalers react to pods without a node, and preemption.

use super::event::{
    CREATED, Event, LONGEST_WAIT, NOMINATED, NOT_SCALED_UP, PREEMPTED, SCALED_UP, SLACK,
};
use crate::observed::prelude::*;

/// How long a new node may take, in seconds. Both autoscalers then give up and try a different node.
///
/// Cluster Autoscaler: `--max-node-provision-time`; Karpenter: `registrationTTL`, pkg/controllers/nodeclaim/lifecycle.
const LONGEST: i64 = 900;
/// Distinguishes Karpenter's warnings from the scheduler's. Both have the same reason.
const KARPENTER: &str = "Failed to schedule pod, ";

/// The last reaction of a node autoscaler to a pod without a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling<'a> {
    /// The name of the autoscaler.
    pub by: &'static str,
    /// Whether a node is coming.
    pub node: NewNode,
    /// In seconds since 1970.
    pub(crate) at: i64,
    /// The node or its group, or why the autoscaler adds none.
    pub message: &'a str,
}

/// The node that an autoscaler adds for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewNode {
    /// The node may come until this time, in seconds since 1970.
    Coming(i64),
    /// The node should have come.
    Late,
    /// No node is added.
    Refused,
}

impl<'a> Scaling<'a> {
    /// Ignores an old refusal: autoscalers repeat a refusal as long as it applies.
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
    /// Returns the last reaction of an autoscaler to a pod, at this time.
    pub fn scaling(&self, namespace: &str, pod: &Pod, now: i64) -> Option<Scaling<'_>> {
        let notes = self.notes(namespace, Kind::Pod, &pod.name).iter();
        let all = notes.chain(self.events(namespace, Kind::Pod, &pod.name));
        let answers = all.filter_map(|event| Scaling::of(event, now));
        answers.filter(|it| it.at >= pod.created).max_by_key(|it| it.at)
    }

    pub(crate) fn creations(&self, set: &WorkloadStatus) -> impl Iterator<Item = &Event> {
        let notes = self.notes(set.namespace(), set.kind().into(), set.name()).iter();
        notes.filter(|it| &*it.reason == CREATED)
    }

    pub(crate) fn preemption(&self, namespace: &str, pod: &Pod) -> Option<&Event> {
        let mut notes = self.notes(namespace, Kind::Pod, &pod.name).iter();
        notes.find(|it| &*it.reason == PREEMPTED)
    }
}
