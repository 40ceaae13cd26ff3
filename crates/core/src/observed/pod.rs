use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Affinity, PersistentVolumeClaimVolumeSource, PodResourceClaim};

use super::{
    event::SLACK,
    not_ready::{Crash, NotReadyKind, NotReadyReason, Placed, Status},
    revision::HASH_LABEL,
};
use crate::observed::prelude::*;
use crate::{kubernetes::node_selector::required_terms, rollout::Health};

/// True once a pod has its volumes and network. Every supported kubelet sets this condition.
const SANDBOX: &str = "PodReadyToStartContainers";

/// How long a pod may wait for a node that an autoscaler adds, in seconds.
const LONGEST_SCHEDULING: i64 = 300;

/// How long a pod may take to become ready, and each restart of a container until its next, in seconds.
const LONGEST_START: i64 = 600;
const LONGEST_LOOP: i64 = 360;

/// A pod of a set, reduced to what matters for rollouts.
#[derive(Clone, Debug)]
pub struct Pod {
    pub name: Box<str>,
    /// The node that the pod runs on or is meant for.
    pub node: Option<Box<str>>,
    /// Whether the pod is already bound to that node.
    pub is_bound: bool,
    /// The time of creation, in seconds since 1970.
    pub created: i64,
    /// When the pod got its node, or else the time of creation, in seconds since 1970.
    pub bound: i64,
    /// Whether the pod has its volumes and network, if its kubelet reports it. Images are pulled and containers started
    /// only afterwards.
    pub has_sandbox: Option<bool>,
    /// When the pod should be gone, if it is being deleted.
    pub deleted: Option<i64>,
    /// The finalizers that delay the deletion, separated by commas.
    pub finalizers: Option<Box<str>>,
    /// The names of the volumes and of their claims.
    pub claims: Box<[(Box<str>, Box<str>)]>,
    /// Whether all containers have terminated for good: the phase is `Failed` or `Succeeded`.
    pub has_ended: bool,
    /// Whether the phase is `Pending`.
    pub is_pending: bool,
    /// Whether the pod is ready, and since when.
    pub ready: (bool, i64),
    /// Since when all of its containers have run.
    pub started: Option<i64>,
    /// The seconds from the assignment to a node to the start of the pod. If other times of the pod are in the future,
    /// the node's clock is ahead by this much.
    pub(crate) ahead: i64,
    /// The most restarts of a container.
    pub restarts: i32,
    /// The crash loop of a container that runs at the moment.
    pub crash: Option<Box<Crash>>,
    /// Why the pod is not ready, if its status shows it.
    pub trouble: Option<Box<NotReadyReason>>,
    revision: Box<str>,
    generation: Box<str>,
}

impl Pod {
    pub(crate) fn is_unschedulable(&self) -> bool {
        self.trouble.as_ref().is_some_and(|it| it.kind == NotReadyKind::Unschedulable)
    }

    /// Returns whether no node has had a place for the pod until this second, for longer than a new node takes.
    pub fn has_no_place(&self, until: i64) -> bool {
        self.is_unschedulable() && self.created + LONGEST_SCHEDULING <= until
    }

    /// Returns whether the pod is ready or has been: it became unready later than any pod that has never been.
    pub fn has_worked(&self) -> bool {
        let in_loop = i64::from(self.restarts) * LONGEST_LOOP;
        self.ready.0 || self.created + LONGEST_START + in_loop < self.ready.1
    }

    pub(super) fn of(RawPod { metadata, spec, status }: &RawPod) -> Self {
        let label = |label| metadata.label(label).unwrap_or_default().into();
        let has_ended = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
        let created = metadata.created();
        let placed = match spec.node_name.as_deref().filter(|name| !name.is_empty()) {
            Some(node) => Placed::On(node),
            None => Placed::By(spec.scheduler_name.as_deref().unwrap_or("default-scheduler")),
        };
        let condition = status.condition("Ready");
        let ready = condition.is_some_and(|it| it.status == "True");
        let since = condition.and_then(|it| it.last_transition_time.as_ref());
        Pod {
            name: metadata.name().into(),
            is_bound: spec.node_name.as_deref().is_some_and(|name| !name.is_empty()),
            node: node(spec).map(Into::into),
            created,
            bound: status.scheduled().unwrap_or(created),
            has_sandbox: status.condition(SANDBOX).map(|it| it.status == "True"),
            deleted: metadata.deleted(),
            finalizers: metadata.finalizers(),
            claims: claims(spec),
            has_ended,
            is_pending: status.phase.as_deref() == Some("Pending"),
            ready: (ready && !has_ended, since.map_or(created, |it| it.0.as_second())),
            started: status.started(),
            ahead: status.ahead(),
            restarts: status.restarts(),
            crash: status.crash().map(Box::new),
            trouble: match ready && !has_ended {
                true => None,
                false => status
                    .trouble(placed)
                    .map(|it| Box::new(it.with_claims(&resource_claims(spec)))),
            },
            revision: label(HASH_LABEL),
            generation: label("pod-template-generation"),
        }
    }

    /// Returns the revision in the pod's label: the whole name for StatefulSets, only the hash for DaemonSets.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns whether the pod has this revision.
    pub fn is_of(&self, revision: &str) -> bool {
        &*self.revision == revision
    }

    /// Returns whether the pod has this generation of a DaemonSet's template.
    pub fn is_of_generation(&self, generation: &str) -> bool {
        &*self.generation == generation
    }

    /// Returns the ordinal, if this is a pod of the StatefulSet with this name.
    pub fn ordinal(&self, set: &str) -> Option<i64> {
        self.name.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
    }

    /// Returns the StatefulSet whose pods may have this name.
    pub(super) fn set_of_name(&self, namespace: &str) -> Option<Owner> {
        let (set, ordinal) = self.name.rsplit_once('-')?;
        let is_ordinal =
            ordinal == "0" || !ordinal.starts_with('0') && ordinal.parse::<u32>().is_ok();
        let kind = WorkloadKind::StatefulSet;
        is_ordinal.then(|| Owner { namespace: namespace.into(), kind, name: set.into() })
    }

    /// Returns whether the pod should have been gone at this second.
    pub fn is_overdue(&self, now: i64) -> bool {
        self.deleted.is_some_and(|end| end.saturating_add(SLACK) < now)
    }

    /// Returns whether the pod has been ready for this many seconds.
    pub fn is_available(&self, min_ready_seconds: i64, now: Timestamp) -> bool {
        let (ready, since) = self.ready;
        ready && (min_ready_seconds <= 0 || since + min_ready_seconds <= now.as_second())
    }

    /// Returns the health. An unready pod counts as starting unless a container cannot start.
    pub fn health(&self, now: Timestamp) -> Health {
        match (self.ready, self.trouble.as_ref().map(|it| it.kind)) {
            _ if self.has_ended => Health::Ended,
            ((true, since), _) => Health::Ready(since - now.as_second()),
            (_, Some(NotReadyKind::Broken)) => Health::Broken,
            _ => Health::Starting,
        }
    }
}

pub(super) type RawPod = Whole<Metadata, Spec, Status>;

/// A part of `PodSpec`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    volumes: Option<Vec<Volume>>,
    node_name: Option<String>,
    scheduler_name: Option<String>,
    affinity: Option<Affinity>,
    resource_claims: Option<Vec<PodResourceClaim>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    name: String,
    persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
}

fn claims(spec: &Spec) -> Box<[(Box<str>, Box<str>)]> {
    let volumes = spec.volumes.iter().flatten();
    let claims = volumes.filter_map(|volume| {
        let claim = volume.persistent_volume_claim.as_ref()?;
        Some((volume.name.as_str().into(), claim.claim_name.as_str().into()))
    });
    claims.collect()
}

/// Returns the shared resource claims, separated by commas.
fn resource_claims(spec: &Spec) -> String {
    let claims = spec.resource_claims.iter().flatten();
    let names: Vec<_> = claims.filter_map(|it| it.resource_claim_name.as_deref()).collect();
    names.join(", ")
}

/// Returns the pod's node, or the node in a daemon pod's affinity. Kubernetes: `GetTargetNodeName`,
/// pkg/controller/daemon/util/daemonset_util.go.
fn node(spec: &Spec) -> Option<&str> {
    if let Some(name) = spec.node_name.as_deref().filter(|name| !name.is_empty()) {
        return Some(name);
    }
    let terms = required_terms(spec.affinity.as_ref())?;
    let fields = terms.iter().flat_map(|it| it.match_fields.iter());
    let mut names = fields.flatten().filter(|it| it.key == "metadata.name" && it.operator == "In");
    names.next()?.values.as_ref()?.first().map(String::as_str)
}
