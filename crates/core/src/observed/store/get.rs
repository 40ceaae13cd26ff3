use k8s_openapi::api::core::v1::ResourceQuotaStatus;

use super::owner;
use crate::observed::prelude::*;
use crate::{
    object::storage::{Storage, is_shareable},
    observed::{
        Endpoints, Event, Member, Node, PersistentVolume, PersistentVolumeClaim, Pod,
        PodDisruptionBudget, Revision, StorageClass, WorkloadState, WorkloadStatus,
    },
};

/// How long an event counts, in seconds. A controller retries after at most 1,000 seconds, and the API server deletes
/// events after an hour.
const KEPT: i64 = 3_600;

impl Observed {
    /// Returns the pods of an unhealthy set.
    pub fn pods(&self, set: &WorkloadStatus) -> &[Pod] {
        self.pods.get(&owner(set)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the pod with the name of an unhealthy StatefulSet's pod that doesn't belong to the set.
    pub fn foreign_pod(&self, namespace: &str, name: &str) -> Option<&Member> {
        self.foreign_pods.get(&(namespace.into(), name.into()))
    }

    /// Returns the revisions of an unhealthy set.
    pub fn revisions(&self, set: &WorkloadStatus) -> impl Iterator<Item = &Revision> {
        self.revisions.get(&owner(set)).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the revision label of pods with the newest template, if known.
    pub(crate) fn newest<'a>(&'a self, set: &'a WorkloadStatus) -> Option<&'a str> {
        match &set.state {
            WorkloadState::StatefulSet(it) => it.status.update_revision.as_deref(),
            WorkloadState::DaemonSet(_) => {
                let newest = self.revisions(set).max_by_key(|it| it.number);
                newest.filter(|it| it.number.is_some()).map(Revision::on_pods)
            }
        }
    }

    /// Returns whether a pod has the newest template, as far as known.
    ///
    /// Kubernetes: `IsPodUpdated`, pkg/controller/daemon/util/daemonset_util.go.
    pub fn is_updated(&self, set: &WorkloadStatus, pod: &Pod) -> bool {
        self.newest(set).is_some_and(|it| pod.is_of(it)) || set.has_generation_of(pod)
    }

    /// Returns the revisions of sets that no controller owns.
    pub fn orphans(&self) -> impl Iterator<Item = &Revision> {
        self.orphans.values()
    }

    /// Returns how many pods of a revision no controller owns.
    pub fn strays(&self, revision: &Revision) -> usize {
        let key = (revision.namespace.clone(), revision.on_pods().into());
        self.strays.get(&key).copied().unwrap_or_default()
    }

    /// Returns the PodDisruptionBudgets of a namespace.
    pub fn budgets(&self, namespace: &str) -> &[PodDisruptionBudget] {
        self.budgets.get(namespace).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns all nodes, in alphabetical order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> + Clone {
        self.nodes.values()
    }

    /// Returns the node with this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }

    pub fn claim(&self, namespace: &str, name: &str) -> Option<&PersistentVolumeClaim> {
        self.claims.get(&(namespace.into(), name.into()))
    }

    /// Returns the claims of a namespace whose names have this prefix.
    pub fn claims(
        &self,
        namespace: &str,
        prefix: &str,
    ) -> impl Iterator<Item = (&str, &PersistentVolumeClaim)> + use<'_> {
        let from: (Box<str>, Box<str>) = (namespace.into(), prefix.into());
        let all = self.claims.range(from.clone()..);
        let claims =
            all.take_while(move |((at, name), _)| *at == from.0 && name.starts_with(&*from.1));
        claims.map(|((_, name), claim)| (&**name, claim))
    }

    /// Returns the volume with this name.
    pub fn volume(&self, name: &str) -> Option<&PersistentVolume> {
        self.volumes.get(name)
    }

    /// Returns the claims and volumes as rules about one object need them.
    pub fn storage(&self) -> Storage {
        let mut storage = Storage::default();
        for ((namespace, name), claim) in &self.claims {
            match claim.modes.iter().any(|mode| is_shareable(mode)) {
                true => storage.add_shareable_claim(Some(namespace), name),
                false => storage.add_other_claim(name),
            }
        }
        if self.volumes.values().any(|volume| volume.class.is_empty()) {
            storage.add_volume_without_class();
        }
        storage
    }

    /// Returns the storage class with this name.
    pub fn class(&self, name: &str) -> Option<&StorageClass> {
        self.classes.get(name)
    }

    /// Returns whether a ServiceAccount, Service or PriorityClass exists. PriorityClasses have no namespace.
    pub fn exists(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.others.contains(&(kind, namespace.into(), name.into()))
    }

    /// Returns the status of the ResourceQuota with this name.
    pub fn quota(&self, namespace: &str, name: &str) -> Option<&ResourceQuotaStatus> {
        self.quotas.get(&(namespace.into(), name.into()))
    }

    /// Returns the endpoints of a Service that has EndpointSlices.
    pub fn endpoints(&self, service: &(Box<str>, Box<str>)) -> Option<Endpoints> {
        self.endpoints.get(service).copied()
    }

    /// Returns the Pod Security level that a namespace's label enforces.
    pub fn pod_security(&self, namespace: &str) -> Option<&str> {
        let labels = self.namespaces.get(namespace)?;
        labels.get("pod-security.kubernetes.io/enforce").map(String::as_str)
    }

    /// Returns all storage classes with their names, in alphabetical order.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &StorageClass)> {
        self.classes.iter().map(|(name, class)| (&**name, class))
    }

    /// Returns the latest warnings about an object, newest first.
    pub fn events(&self, namespace: &str, kind: Kind, name: &str) -> &[Event] {
        let about = (namespace.into(), kind, name.into());
        self.events.get(&about).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the warnings of the last hour about a set with this reason, newest first.
    pub fn events_of_set(
        &self,
        set: &WorkloadStatus,
        reason: &'static str,
        now: i64,
    ) -> impl Iterator<Item = &Event> + use<'_> {
        let events = self.events(set.namespace(), set.kind().into(), set.name()).iter();
        events.filter(move |it| &*it.reason == reason && it.last + KEPT > now)
    }

    pub(in crate::observed) fn notes(&self, namespace: &str, kind: Kind, name: &str) -> &[Event] {
        let about = (namespace.into(), kind, name.into());
        self.notes.get(&about).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the latest warning about the claim of a pod's generic ephemeral volume, and the name of the claim: the
    /// names of the pod and the volume.
    ///
    /// Kubernetes: `VolumeClaimName`, component-helpers storage/ephemeral/ephemeral.go.
    pub(crate) fn event_of_ephemeral_claim(
        &self,
        namespace: &str,
        pod: &str,
    ) -> Option<(&str, &Event)> {
        let prefix = format!("{pod}-");
        let from: About = (namespace.into(), Kind::PersistentVolumeClaim, prefix.as_str().into());
        let (about, events) = self.events.range(from..).next()?;
        let is_own = *about.0 == *namespace
            && about.1 == Kind::PersistentVolumeClaim
            && about.2.starts_with(&prefix);
        Some((&*about.2, events.first().filter(|_| is_own)?))
    }

    /// Returns the latest warnings about pods with names like a DaemonSet's pods, even if they no longer exist.
    /// Empty for a StatefulSet.
    pub(crate) fn events_of_daemons(&self, set: &WorkloadStatus) -> impl Iterator<Item = &Event> {
        let prefix = (set.kind() == WorkloadKind::DaemonSet).then(|| format!("{}-", set.name()));
        let begin = |prefix: &str| (set.namespace().into(), Kind::Pod, prefix.into());
        let all = prefix.as_deref().map(|prefix| self.events.range::<About, _>(begin(prefix)..));
        let is_own = move |about: &About| {
            let rest = about.2.strip_prefix(prefix.as_deref()?)?;
            Some((
                *about.0 == *set.namespace() && about.1 == Kind::Pod,
                rest.len() == 5 && !rest.contains('-'),
            ))
        };
        let pods = all
            .into_iter()
            .flatten()
            .map_while(move |(about, events)| Some((is_own(about)?, events)));
        let pods =
            pods.take_while(|((is_there, _), _)| *is_there).filter(|((_, is_own), _)| *is_own);
        pods.flat_map(|(_, events)| events)
    }

    pub(crate) fn volumes_of<'a>(
        &'a self,
        class: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a PersistentVolume)> {
        let volumes = self.volumes.iter().filter(move |(_, volume)| *volume.class == *class);
        volumes.map(|(name, volume)| (&**name, volume))
    }
}
