mod add;
mod get;

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ResourceQuotaStatus;

use super::{
    budget::PodDisruptionBudget,
    claim::{PersistentVolume, PersistentVolumeClaim},
    event::{Event, LONGEST_GAP},
    member::Member,
    node::Node,
    revision::Revision,
    webhook::{Endpoints, Webhook},
    workload::WorkloadState,
};
use crate::observed::prelude::*;
use crate::{
    kubernetes::cluster::Cluster,
    object::storage_class::StorageClass,
    rollout::{
        node::{Placement, placements},
        stateful_set::{Settings, ordinals},
    },
};

/// The objects of a running cluster that the status rules need.
///
/// Add DaemonSets and StatefulSets before the objects that belong to them: the store drops the objects of sets that are
/// healthy according to their status. A kind that was neither added nor forbidden counts as empty.
#[derive(Debug, Default)]
pub struct Observed {
    sets: BTreeMap<Owner, WorkloadStatus>,
    nodes: BTreeMap<Box<str>, Node>,
    pods: BTreeMap<Owner, Vec<Pod>>,
    /// Pods with the name of a StatefulSet's pod that don't belong to the set, by namespace and name.
    foreign_pods: BTreeMap<(Box<str>, Box<str>), Member>,
    /// By namespace and name, like the maps below with this type of key.
    claims: BTreeMap<(Box<str>, Box<str>), PersistentVolumeClaim>,
    volumes: BTreeMap<Box<str>, PersistentVolume>,
    classes: BTreeMap<Box<str>, StorageClass>,
    events: BTreeMap<About, Vec<Event>>,
    notes: BTreeMap<About, Vec<Event>>,
    /// By set and name.
    revisions: BTreeMap<Owner, BTreeMap<Box<str>, Revision>>,
    /// Revisions of sets that no controller owns, by namespace and name.
    orphans: BTreeMap<(Box<str>, Box<str>), Revision>,
    /// How many pods without a controller have a revision, by namespace and revision label.
    strays: BTreeMap<(Box<str>, Box<str>), usize>,
    budgets: BTreeMap<Box<str>, Vec<PodDisruptionBudget>>,
    /// Objects whose existence is all that matters, by kind, namespace and name.
    others: BTreeSet<(Kind, Box<str>, Box<str>)>,
    /// The labels of namespaces.
    pub(crate) namespaces: BTreeMap<Box<str>, BTreeMap<String, String>>,
    quotas: BTreeMap<(Box<str>, Box<str>), ResourceQuotaStatus>,
    /// The webhooks of other programs that can block pods or nodes.
    pub webhooks: Vec<Webhook>,
    /// By the namespace and name of the Service.
    endpoints: BTreeMap<(Box<str>, Box<str>), Endpoints>,
    /// Kinds that could not be read, with the namespace; `None` for all namespaces.
    forbidden: BTreeSet<(Kind, Option<Box<str>>)>,
    /// Whether to keep the pods and revisions of healthy sets.
    keeps_all: bool,
    /// Whether to keep those of sets whose status was written after this second.
    recent: Option<i64>,
}

/// How long a status counts as written recently, in seconds: longer than a container that always ends runs and waits.
const RECENT: i64 = 2 * LONGEST_GAP;

impl Observed {
    /// Creates an empty store that also keeps the pods and revisions of healthy sets.
    pub fn keeping_all() -> Self {
        Observed { keeps_all: true, ..Observed::default() }
    }

    /// Creates an empty store that also keeps the pods and revisions of healthy sets whose status was written shortly
    /// before: they may be healthy only for a moment.
    pub fn at(now: Timestamp) -> Self {
        Observed { recent: Some(now.as_second() - RECENT), ..Observed::default() }
    }

    fn is_recent(&self, set: &WorkloadStatus) -> bool {
        self.recent.zip(set.status_written).is_some_and(|(recent, written)| written > recent)
    }

    /// Records that objects of a kind could not be read, in one namespace or in all. Rules then never treat such an
    /// object as missing.
    pub fn forbid(&mut self, kind: Kind, namespace: Option<&str>) {
        self.forbidden.insert((kind, namespace.map(Into::into)));
    }

    /// Returns whether all objects of a kind in a namespace were read.
    pub fn knows(&self, kind: Kind, namespace: &str) -> bool {
        let is_forbidden =
            |namespace: Option<&str>| self.forbidden.contains(&(kind, namespace.map(Into::into)));
        !is_forbidden(None) && !is_forbidden(Some(namespace))
    }

    /// Returns all sets, ordered by namespace, kind and name.
    pub fn sets(&self) -> impl Iterator<Item = &WorkloadStatus> {
        self.sets.values()
    }

    /// Returns the namespaces with a set that is unhealthy according to its status, recently changed or being deleted,
    /// or with a revision that no set owns, sorted. Their pods and events must be added.
    pub fn namespaces_with_unhealthy_sets(&self) -> Vec<&str> {
        let is_ending = |set: &WorkloadStatus| set.deletion().is_some();
        let mut all =
            self.namespaces(|set| is_ending(set) || !self.is_healthy(set) || self.is_recent(set));
        all.extend(self.orphans.keys().map(|(namespace, _)| &**namespace));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the namespaces whose claims must be added, sorted.
    pub fn namespaces_with_claim_templates(&self) -> Vec<&str> {
        self.namespaces(WorkloadStatus::has_claim_templates)
    }

    fn namespaces(&self, wanted: impl Fn(&WorkloadStatus) -> bool) -> Vec<&str> {
        let mut namespaces: Vec<_> =
            self.sets().filter(|set| wanted(set)).map(WorkloadStatus::namespace).collect();
        namespaces.dedup();
        namespaces
    }

    /// Returns whether a set is healthy according to its status, and the status is up to date with the nodes. The
    /// controller does not update a DaemonSet's status when a node gets a taint that only repels new pods.
    ///
    /// Kubernetes: `syncNodeUpdate`, pkg/controller/daemon/daemon_controller.go.
    pub fn is_healthy(&self, set: &WorkloadStatus) -> bool {
        let WorkloadState::DaemonSet(daemons) = &set.state else {
            return set.is_healthy() && !self.may_have_misfits(set);
        };
        let is_up_to_date = || {
            let placements =
                placements(&daemons.spec.template.placing, self.nodes().map(|node| &node.place));
            let wanted = placements.iter().filter(|it| **it == Placement::Runs).count();
            usize::try_from(daemons.status.desired_number_scheduled) == Ok(wanted)
        };
        set.is_healthy()
            && (!set.is_current() || !self.knows(Kind::Node, "") || is_up_to_date())
            && !(self.may_have_adopted(set) || self.stale_pods(set).next().is_some())
    }

    fn may_have_misfits(&self, set: &WorkloadStatus) -> bool {
        set.has_claim_templates()
            && (self.may_have_adopted(set) || self.misfits(set).next().is_some())
    }

    /// Before the pods are known, a revision that is older than its set is enough.
    fn may_have_adopted(&self, set: &WorkloadStatus) -> bool {
        self.pods(set).is_empty()
            && set.ready().wanted > 0
            && self.revisions(set).any(|it| it.created < set.created)
    }

    /// Returns the pods of a StatefulSet without the volume of a claim template, as after the set was deleted without
    /// its pods and created again with a different claim template. The controller cannot add volumes, and fails.
    ///
    /// Kubernetes: `UpdateStatefulPod`, pkg/controller/statefulset/stateful_pod_control.go.
    pub fn misfits<'a>(&'a self, set: &'a WorkloadStatus) -> impl Iterator<Item = &'a Pod> {
        let settings = match &set.state {
            // Claims depend on no feature.
            WorkloadState::StatefulSet(it) => {
                Settings::of(set.name(), &it.spec, &Cluster::default())
            }
            WorkloadState::DaemonSet(_) => None,
        };
        self.pods(set).iter().filter(move |pod| {
            let is_misfit = |settings: &Settings| {
                let ordinal = pod.ordinal(set.name());
                let ordinal = ordinal.filter(|it| settings.ordinals.contains(it));
                ordinal.is_some_and(|ordinal| !settings.fits(ordinal, &pod.claims))
            };
            pod.deleted.is_none() && !pod.has_ended && settings.as_ref().is_some_and(is_misfit)
        })
    }

    /// Returns how many pods of a set are missing, not ready or being deleted; 0 if some may not have been kept.
    pub(super) fn lacking(&self, set: &WorkloadStatus) -> usize {
        if !self.keeps_all || !self.knows(Kind::Pod, set.namespace()) {
            return 0;
        }
        let pods = self.pods(set).iter();
        let serving = pods.clone().filter(|pod| pod.ready.0 && pod.deleted.is_none());
        match &set.state {
            WorkloadState::StatefulSet(it) => {
                let ordinals = ordinals(&it.spec);
                let here = serving.filter_map(|pod| pod.ordinal(set.name()));
                let here = here.filter(|it| ordinals.contains(it)).count();
                let wanted = usize::try_from(ordinals.end - ordinals.start).unwrap_or_default();
                wanted.saturating_sub(here)
            }
            WorkloadState::DaemonSet(it) => {
                let of_pod = |pod: &'_ Pod| pod.node.clone();
                let serving: BTreeSet<_> = serving.filter_map(of_pod).collect();
                let placing = &it.spec.template.placing;
                let nodes: BTreeSet<_> = match self.knows(Kind::Node, "") {
                    true => {
                        let placements = placements(placing, self.nodes().map(|it| &it.place));
                        let nodes = self.nodes.keys().zip(placements);
                        let runs = nodes.filter(|(_, placement)| *placement == Placement::Runs);
                        runs.map(|(name, _)| name.clone()).collect()
                    }
                    false => pods.filter_map(of_pod).collect(),
                };
                nodes.difference(&serving).count()
            }
        }
    }

    /// Returns the pods of an older template that the controller of a DaemonSet counts as updated, and so never
    /// replaces: their label has the generation of the set's template. Generations begin again when the set is deleted
    /// without its pods and created again.
    ///
    /// Kubernetes: `IsPodUpdated`, pkg/controller/daemon/util/daemonset_util.go.
    pub fn stale_pods<'a>(&'a self, set: &'a WorkloadStatus) -> impl Iterator<Item = &'a Pod> {
        let newest = self.newest(set);
        let is_stale = move |pod: &&Pod| {
            newest.is_some_and(|it| !pod.is_of(it))
                && set.has_generation_of(pod)
                && pod.deleted.is_none()
        };
        self.pods(set).iter().filter(is_stale)
    }
}

fn owner(set: &WorkloadStatus) -> Owner {
    Owner { namespace: set.namespace().into(), kind: set.kind(), name: set.name().into() }
}
