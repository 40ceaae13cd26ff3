//! The pods, claims, revisions and nodes that a cluster has.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::ControllerRevision,
        core::v1::{Node as ApiNode, PersistentVolumeClaim, Pod, PodStatus, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    kubernetes::{resource::Kind, semantic},
    object::defaults,
    rollout::{Health, node::Node},
};

/// The label with the revision of a pod: the whole name for StatefulSets, only the hash for
/// DaemonSets.
const REVISION_LABEL: &str = "controller-revision-hash";
/// The label of a daemon's pod with the generation of its template.
const GENERATION_LABEL: &str = "pod-template-generation";
/// The states of containers that do not start by themselves.
const BROKEN: [&str; 8] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// A pod of a set.
#[derive(Clone, Debug)]
pub(super) struct LivePod {
    pub(super) name: String,
    /// The node that it is on or for.
    pub(super) node: Option<String>,
    pub(super) health: Health,
    /// In seconds since 1970.
    pub(super) created: i64,
    revision: String,
    generation: String,
}

impl LivePod {
    /// Whether it is of this revision.
    pub(super) fn is_of(&self, revision: &str) -> bool {
        self.revision == revision
    }

    /// Whether it is of this generation of the template of a DaemonSet.
    pub(super) fn is_of_generation(&self, generation: &str) -> bool {
        self.generation == generation
    }
}

/// A set, as its pods and revisions name it: namespace, kind and name.
type Owner = (String, String, String);

/// What a cluster has beside the sets.
#[derive(Debug, Default)]
pub(super) struct World {
    /// `None` if the input has neither pods nor revisions: nothing is known about pods then.
    pods: Option<BTreeMap<Owner, Vec<LivePod>>>,
    /// By namespace. `None` if the input has neither claims nor revisions.
    claims: Option<BTreeSet<(String, String)>>,
    revisions: BTreeMap<Owner, Vec<(String, PodTemplateSpec)>>,
    /// `None` if no nodes were given.
    pub(super) nodes: Option<Vec<Node>>,
}

impl World {
    /// Adds an object. Returns why it cannot be read, if it should be of a kind that is needed.
    pub(super) fn add(
        &mut self,
        api_version: &str,
        kind: &str,
        json: &str,
        now: Timestamp,
    ) -> Result<(), serde_json::Error> {
        match (api_version, kind) {
            ("v1", "Pod") => self.add_pod(read(json)?, now),
            ("v1", "PersistentVolumeClaim") => {
                let PersistentVolumeClaim { metadata, .. } = read(json)?;
                let claims = self.claims.get_or_insert_default();
                // One that is being deleted is gone soon.
                if metadata.deletion_timestamp.is_none() {
                    claims.insert((namespace(&metadata), metadata.name.unwrap_or_default()));
                }
            }
            ("v1", "Node") => {
                let ApiNode { metadata, spec, .. } = read(json)?;
                self.nodes.get_or_insert_default().push(Node {
                    name: metadata.name.unwrap_or_default(),
                    labels: metadata.labels.unwrap_or_default(),
                    taints: spec.and_then(|spec| spec.taints).unwrap_or_default(),
                });
            }
            ("apps/v1", "ControllerRevision") => self.add_revision(read(json)?),
            _ => {}
        }
        Ok(())
    }

    /// Remembers that pods and claims that are not given do not exist.
    pub(super) fn know_all(&mut self) {
        self.pods.get_or_insert_default();
        self.claims.get_or_insert_default();
    }

    fn add_pod(&mut self, pod: Pod, now: Timestamp) {
        let pods = self.pods.get_or_insert_default();
        let Some(owner) = owner(&pod.metadata) else { return };
        // One that is being deleted is gone soon.
        if pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        let label =
            |key: &str| pod.metadata.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
        pods.entry(owner).or_default().push(LivePod {
            revision: label(REVISION_LABEL).unwrap_or_default(),
            generation: label(GENERATION_LABEL).unwrap_or_default(),
            health: pod.status.as_ref().map_or(Health::Starting, |it| health(it, now)),
            node: node_of(&pod),
            created: pod.metadata.creation_timestamp.as_ref().map_or(0, |it| it.0.as_second()),
            name: pod.metadata.name.unwrap_or_default(),
        });
    }

    fn add_revision(&mut self, revision: ControllerRevision) {
        #[derive(Deserialize)]
        struct Data {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            template: PodTemplateSpec,
        }
        // Whoever reads revisions reads the pods and claims too.
        self.know_all();
        let Some(owner) = owner(&revision.metadata) else { return };
        let data = serde_json::from_value::<Data>(revision.data.0);
        let Ok(Data { spec: Spec { mut template } }) = data else { return };
        defaults::template(&mut template);
        // The pods of a DaemonSet are labelled with the hash only.
        let hash = revision.metadata.labels.as_ref().and_then(|it| it.get(REVISION_LABEL));
        let hash = hash.filter(|_| owner.1 == Kind::DaemonSet.as_str());
        let name = hash.cloned().or(revision.metadata.name).unwrap_or_default();
        self.revisions.entry(owner).or_default().push((name, template));
    }

    /// The pods of a set; `None` if nothing is known about pods.
    pub(super) fn pods(&self, namespace: &str, kind: Kind, name: &str) -> Option<&[LivePod]> {
        let pods = self.pods.as_ref()?;
        let owner = (namespace.to_owned(), kind.as_str().to_owned(), name.to_owned());
        Some(pods.get(&owner).map(Vec::as_slice).unwrap_or_default())
    }

    /// The revision of a set that has this template, by the label of its pods.
    pub(super) fn revision(
        &self,
        namespace: &str,
        kind: Kind,
        name: &str,
        template: &PodTemplateSpec,
    ) -> Option<&str> {
        let owner = (namespace.to_owned(), kind.as_str().to_owned(), name.to_owned());
        let mut revisions = self.revisions.get(&owner)?.iter();
        let found = revisions.find(|(_, own)| semantic::equal_templates(own, template));
        found.map(|(name, _)| name.as_str())
    }

    /// Whether a claim exists; `None` if nothing is known about claims.
    pub(super) fn has_claim(&self, namespace: &str, name: &str) -> Option<bool> {
        let claims = self.claims.as_ref()?;
        Some(claims.contains(&(namespace.to_owned(), name.to_owned())))
    }
}

fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json)
}

fn namespace(metadata: &ObjectMeta) -> String {
    let namespace = metadata.namespace.as_deref().filter(|it| !it.is_empty());
    namespace.unwrap_or("default").to_owned()
}

fn owner(metadata: &ObjectMeta) -> Option<Owner> {
    let owners = metadata.owner_references.as_deref()?;
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    let is_apps = owner.api_version == "apps/v1";
    is_apps.then(|| (namespace(metadata), owner.kind.clone(), owner.name.clone()))
}

/// Kubernetes: `GetTargetNodeName`, pkg/controller/daemon/util/daemonset_util.go.
fn node_of(pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    if let Some(name) = spec.node_name.as_ref().filter(|name| !name.is_empty()) {
        return Some(name.clone());
    }
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields =
        required.node_selector_terms.iter().flat_map(|it| it.match_fields.iter().flatten());
    let mut names = fields.filter(|it| it.key == "metadata.name" && it.operator == "In");
    names.next()?.values.as_ref()?.first().cloned()
}

/// How a pod is. A pod that is not ready is assumed to become so, unless a container of it is known
/// not to start.
fn health(status: &PodStatus, now: Timestamp) -> Health {
    if matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")) {
        return Health::Ended;
    }
    let ready = status.conditions.iter().flatten();
    let ready = ready.into_iter().find(|it| it.type_ == "Ready" && it.status == "True");
    if let Some(ready) = ready {
        let since = ready.last_transition_time.as_ref().map_or(0, |it| it.0.as_second());
        return Health::Ready(since - now.as_second());
    }
    let init = status.init_container_statuses.iter().flatten();
    let mut containers = status.container_statuses.iter().flatten().chain(init);
    let is_broken = containers.any(|container| {
        let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref());
        let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
        reason.is_some_and(|reason| BROKEN.contains(&reason))
    });
    if is_broken { Health::Broken } else { Health::Starting }
}
