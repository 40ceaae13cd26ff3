//! The answers of autoscalers of nodes to pods that have no place, and preemption.

use super::{
    event::{Event, NOMINATED, NOT_SCALED_UP, PREEMPTED, SCALED_UP},
    pod::Pod,
    store::Observed,
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
pub(crate) struct Scaling<'a> {
    /// The name of the autoscaler.
    pub(crate) by: &'static str,
    /// Whether a node is being added for the pod, or was.
    pub(crate) adds_node: bool,
    /// The time of the answer, in seconds since 1970.
    pub(crate) at: i64,
    /// The details: the node or its group, or why none is added.
    pub(crate) message: &'a str,
}

impl<'a> Scaling<'a> {
    fn of(event: &'a Event) -> Option<Self> {
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
        Some(Scaling { by, adds_node, at: event.last, message })
    }

    /// Returns the second until which a node may come that is being added.
    pub(crate) const fn end(&self) -> i64 {
        self.at.saturating_add(LONGEST)
    }
}

impl Observed {
    /// Returns the last answer of an autoscaler to a pod.
    pub(crate) fn scaling(&self, namespace: &str, pod: &Pod) -> Option<Scaling<'_>> {
        let notes = self.notes(namespace, &pod.name).iter();
        let all = notes.chain(self.events(namespace, Kind::Pod, &pod.name));
        let own = all.filter_map(Scaling::of).filter(|it| it.at >= pod.created);
        own.max_by_key(|it| it.at)
    }

    /// Returns the preemption of the pod that had the name of this one before.
    pub(crate) fn preemption(&self, namespace: &str, pod: &Pod) -> Option<&Event> {
        let mut notes = self.notes(namespace, &pod.name).iter();
        notes.find(|it| &*it.reason == PREEMPTED)
    }
}
