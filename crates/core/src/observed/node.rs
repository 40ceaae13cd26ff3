use k8s_openapi::api::core::v1::{NodeSpec, NodeStatus};

use super::not_ready::LONGEST;
use crate::observed::prelude::*;
use crate::{finding::shorten, rollout::node::NodeInfo};

/// A node, reduced to what matters for the pods of sets.
#[derive(Clone, Debug)]
pub struct Node {
    /// The fields that the DaemonSet controller reads.
    pub place: NodeInfo,
    /// The time of creation, in seconds since 1970.
    pub created: i64,
    /// Since when the node has been ready, if known.
    pub ready_since: Option<i64>,
    /// When its kubelet last reported its conditions, if known.
    pub heartbeat: Option<i64>,
    /// Since when the node has been unready.
    pub not_ready: Option<i64>,
    /// The message of an unready node's `Ready` condition; may be empty.
    pub why_not_ready: Box<str>,
    pub uid: Box<str>,
    /// Whether the node is cordoned.
    pub is_cordoned: bool,
}

impl Node {
    /// Reads a Node. Fails if the JSON is not a Node.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        let Whole::<Metadata, NodeSpec, NodeStatus> { mut metadata, spec, status } =
            serde_json::from_str(json)?;
        let created = metadata.created();
        let mut conditions = status.conditions.iter().flatten();
        let heartbeats = conditions.clone().filter_map(|it| it.last_heartbeat_time.as_ref());
        let heartbeat = heartbeats.map(|time| time.0.as_second()).max();
        let ready = conditions.find(|it| it.type_ == "Ready");
        let since = ready.and_then(|it| it.last_transition_time.as_ref());
        let since = since.map(|time| time.0.as_second());
        let is_ready = ready.is_some_and(|it| it.status == "True");
        let ready = ready.filter(|_| !is_ready);
        let said = ready.and_then(|it| it.message.as_deref()).unwrap_or_default();
        Ok(Node {
            created,
            why_not_ready: shorten(said.trim(), LONGEST).into_owned().into(),
            uid: metadata.uid().into(),
            heartbeat,
            ready_since: since.filter(|_| is_ready),
            not_ready: ready.map(|_| since.unwrap_or(created)),
            is_cordoned: spec.unschedulable == Some(true),
            place: NodeInfo {
                name: metadata.name().to_owned(),
                labels: metadata.labels.take().unwrap_or_default(),
                taints: spec.taints.unwrap_or_default(),
            },
        })
    }
}
