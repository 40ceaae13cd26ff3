//! All objects that were read from a cluster.

mod add;
mod get;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    budget::PodDisruptionBudget,
    claim::{PersistentVolume, PersistentVolumeClaim},
    event::{About, Event},
    foreign_pod::ForeignPod,
    meta::Owner,
    node::Node,
    pod::Pod,
    quota::Quota,
    revision::Revision,
    webhook::{Endpoints, Webhook},
    workload::{WorkloadState, WorkloadStatus},
};
use crate::{
    kubernetes::kind::Kind,
    object::storage_class::StorageClass,
    rollout::node::{Placement, placements},
};

/// The objects of a running cluster, as far as the rules about status need them.
///
/// DaemonSets and StatefulSets must be added before the objects that belong to them, because the
/// objects of a set that is healthy according to its status are not kept. A kind that was neither
/// added nor forbidden is taken to have no objects.
#[derive(Debug, Default)]
pub struct Observed {
    sets: BTreeMap<Owner, WorkloadStatus>,
    nodes: BTreeMap<Box<str>, Node>,
    pods: BTreeMap<Owner, Vec<Pod>>,
    /// Pods with the name of a pod of a StatefulSet to which they don't belong, by namespace and name.
    foreign_pods: BTreeMap<(Box<str>, Box<str>), ForeignPod>,
    /// The claims by namespace and name; the maps below have keys of the same form.
    claims: BTreeMap<(Box<str>, Box<str>), PersistentVolumeClaim>,
    volumes: BTreeMap<Box<str>, PersistentVolume>,
    classes: BTreeMap<Box<str>, StorageClass>,
    /// The warnings about each object.
    events: BTreeMap<About, Vec<Event>>,
    /// The other events about each object.
    notes: BTreeMap<About, Vec<Event>>,
    /// The revisions of each set, by name.
    revisions: BTreeMap<Owner, BTreeMap<Box<str>, Revision>>,
    /// Revisions of sets that no controller owns, by namespace and name.
    orphans: BTreeMap<(Box<str>, Box<str>), Revision>,
    /// The PodDisruptionBudgets by namespace.
    budgets: BTreeMap<Box<str>, Vec<PodDisruptionBudget>>,
    /// Objects of which only the existence matters, by kind, namespace and name.
    others: BTreeSet<(Kind, Box<str>, Box<str>)>,
    /// The labels of the namespaces.
    namespaces: BTreeMap<Box<str>, BTreeMap<String, String>>,
    quotas: BTreeMap<(Box<str>, Box<str>), Quota>,
    webhooks: Vec<Webhook>,
    /// The endpoints of Services.
    endpoints: BTreeMap<(Box<str>, Box<str>), Endpoints>,
    /// The kinds that could not be read, with the namespace; `None` stands for all namespaces.
    forbidden: BTreeSet<(Kind, Option<Box<str>>)>,
    /// Whether the pods and revisions of healthy sets are kept too.
    keeps_all: bool,
}

impl Observed {
    /// Creates an empty store that keeps the pods and revisions of healthy sets too.
    pub fn keeping_all() -> Self {
        Observed { keeps_all: true, ..Observed::default() }
    }

    /// Remembers that objects of a kind could not be read, in one namespace or in all. No rule then
    /// takes the absence of such an object for a fact.
    pub fn forbid(&mut self, kind: Kind, namespace: Option<&str>) {
        self.forbidden.insert((kind, namespace.map(Into::into)));
    }

    /// Returns whether all objects of a kind in a namespace are known.
    pub fn knows(&self, kind: Kind, namespace: &str) -> bool {
        let is_forbidden =
            |namespace: Option<&str>| self.forbidden.contains(&(kind, namespace.map(Into::into)));
        !is_forbidden(None) && !is_forbidden(Some(namespace))
    }

    /// Returns all sets, in the order of namespace, kind and name.
    pub fn sets(&self) -> impl Iterator<Item = &WorkloadStatus> {
        self.sets.values()
    }

    /// Returns the namespaces whose pods and events must be added because a set in them is not
    /// healthy according to its status, in alphabetical order.
    pub fn namespaces_with_unhealthy_sets(&self) -> Vec<&str> {
        self.namespaces(|set| !self.is_healthy(set))
    }

    /// Returns the namespaces whose claims must be added, in alphabetical order.
    pub fn namespaces_with_claim_templates(&self) -> Vec<&str> {
        self.namespaces(WorkloadStatus::has_claim_templates)
    }

    fn namespaces(&self, wanted: impl Fn(&WorkloadStatus) -> bool) -> Vec<&str> {
        let mut namespaces: Vec<_> =
            self.sets().filter(|set| wanted(set)).map(WorkloadStatus::namespace).collect();
        namespaces.dedup();
        namespaces
    }

    /// Returns whether a set is healthy according to its status, and the status is up to date with
    /// the nodes. The controller does not update the status of a DaemonSet when a node gets a taint
    /// that keeps only new pods away.
    ///
    /// Kubernetes: `syncNodeUpdate`, pkg/controller/daemon/daemon_controller.go.
    pub fn is_healthy(&self, set: &WorkloadStatus) -> bool {
        let WorkloadState::DaemonSet(daemons) = &set.state else { return set.is_healthy() };
        let is_up_to_date = || {
            let placements =
                placements(&daemons.spec.template.placing, self.nodes().map(|node| &node.place));
            let wanted = placements.iter().filter(|it| **it == Placement::Runs).count();
            usize::try_from(daemons.status.desired_number_scheduled) == Ok(wanted)
        };
        set.is_healthy() && (!set.is_current() || !self.knows(Kind::Node, "") || is_up_to_date())
    }
}

fn owner(set: &WorkloadStatus) -> Owner {
    Owner { namespace: set.namespace().into(), kind: set.kind(), name: set.name().into() }
}
