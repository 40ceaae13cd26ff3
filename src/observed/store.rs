//! All objects that were read from a cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    budget::Budget,
    claim::{Claim, Class, Volume},
    event::{About, Event},
    meta::{self, Owner},
    node::Node,
    pod::Pod,
    quota::Quota,
    revision::Revision,
    set::{Set, State},
    stranger::Stranger,
    webhook::{Endpoints, Webhook},
};
use crate::{
    kubernetes::{kind::Kind, resource::WorkloadKind},
    rollout::node::{Placement, placements},
};

/// The most warnings that are kept for one object; older ones are dropped.
const MOST_EVENTS: usize = 8;

/// The objects of a running cluster, as far as the rules about status need them.
///
/// DaemonSets and StatefulSets must be added before the objects that belong to them, because the
/// objects of a set that is healthy according to its status are not kept. A kind that was neither
/// added nor forbidden is taken to have no objects.
#[derive(Debug, Default)]
pub struct Observed {
    sets: BTreeMap<Owner, Set>,
    nodes: BTreeMap<Box<str>, Node>,
    pods: BTreeMap<Owner, Vec<Pod>>,
    /// Pods with the name of a pod of a StatefulSet to which they don't belong, by namespace and name.
    strangers: BTreeMap<(Box<str>, Box<str>), Stranger>,
    /// The claims by namespace and name; the maps below have keys of the same form.
    claims: BTreeMap<(Box<str>, Box<str>), Claim>,
    volumes: BTreeMap<Box<str>, Volume>,
    classes: BTreeMap<Box<str>, Class>,
    events: BTreeMap<About, Vec<Event>>,
    /// The revisions of each set, by name.
    revisions: BTreeMap<Owner, BTreeMap<Box<str>, Revision>>,
    /// Revisions of sets that no controller owns, by namespace and name.
    orphans: BTreeMap<(Box<str>, Box<str>), Revision>,
    /// The PodDisruptionBudgets by namespace.
    budgets: BTreeMap<Box<str>, Vec<Budget>>,
    /// Objects of which only the existence matters, by kind, namespace and name.
    others: BTreeSet<(Box<str>, Box<str>, Box<str>)>,
    /// The labels of the namespaces.
    namespaces: BTreeMap<Box<str>, BTreeMap<String, String>>,
    quotas: BTreeMap<(Box<str>, Box<str>), Quota>,
    webhooks: Vec<Webhook>,
    /// The endpoints of Services.
    endpoints: BTreeMap<(Box<str>, Box<str>), Endpoints>,
    /// The kinds that could not be read, with the namespace; `None` stands for all namespaces.
    forbidden: BTreeSet<(Box<str>, Option<Box<str>>)>,
    /// Whether the pods and revisions of healthy sets are kept too.
    keeps_all: bool,
}

impl Observed {
    /// Creates an empty store that keeps the pods and revisions of healthy sets too.
    pub fn keeping_all() -> Self {
        Observed { keeps_all: true, ..Observed::default() }
    }

    /// Adds an object of any kind; kinds that no rule needs are ignored. These kinds are needed,
    /// the sets first and the others in any order:
    /// - `DaemonSet` and `StatefulSet` (`apps/v1`) and `Node`, always and complete, before the
    ///   namespaces below are requested;
    /// - `ControllerRevision` (`apps/v1`), always; the metadata is enough;
    /// - `PodDisruptionBudget` (`policy/v1`), always;
    /// - `ServiceAccount`, `PriorityClass` (`scheduling.k8s.io/v1`) and `Namespace`, so that a refusal of
    ///   which the cause is gone is told as that; their metadata is enough;
    /// - `Service`, `ValidatingWebhookConfiguration`, `MutatingWebhookConfiguration` and the
    ///   `EndpointSlice` of the Services that these name, all or none, to find webhooks that refuse pods;
    /// - `PersistentVolumeClaim` of [`Observed::namespaces_with_claim_templates`];
    /// - `PersistentVolume` and `StorageClass` (`storage.k8s.io/v1`), if there are such namespaces;
    /// - `Pod`, `ResourceQuota`, `Event` (`v1`, of type `Warning`) and complete `ControllerRevision` of
    ///   [`Observed::namespaces_with_unhealthy_sets`].
    ///
    /// # Errors
    /// Returns an error if the JSON is not an object of this kind.
    pub fn add(
        &mut self,
        api_version: &str,
        kind: &str,
        json: &str,
    ) -> Result<(), serde_json::Error> {
        match (api_version, kind) {
            ("apps/v1", "DaemonSet") => self.put(Set::daemon_set(json)?),
            ("apps/v1", "StatefulSet") => self.put(Set::stateful_set(json)?),
            ("apps/v1", "ControllerRevision") => match Revision::read(json)? {
                (Some(owner), revision) if self.may_matter(&owner) => {
                    let all = self.revisions.entry(owner).or_default();
                    all.insert(revision.name.clone(), revision);
                }
                (None, orphan) if orphan.is_of_set && !orphan.is_owned => {
                    let name = (orphan.namespace.clone(), orphan.name.clone());
                    self.orphans.insert(name, orphan);
                }
                _ => {}
            },
            ("v1", "Node") => {
                let node = Node::read(json)?;
                self.nodes.insert(node.place.name.as_str().into(), node);
            }
            ("v1", "Pod") => {
                let (namespace, owner, pod) = Pod::read_in_namespace(json)?;
                let of_name = pod.set_of_name(&namespace).filter(|it| {
                    owner.as_ref() != Some(it) && self.sets.contains_key(it) && self.may_matter(it)
                });
                if of_name.is_some() {
                    self.strangers.insert((namespace, pod.name.clone()), Stranger::read(json)?);
                }
                // The status of a DaemonSet may be older than its nodes.
                if let Some(owner) = owner
                    && (owner.kind == WorkloadKind::DaemonSet || self.may_matter(&owner))
                {
                    self.pods.entry(owner).or_default().push(pod);
                }
            }
            ("v1", "PersistentVolumeClaim") => {
                let (name, claim) = Claim::read(json)?;
                self.claims.insert(name, claim);
            }
            ("v1", "PersistentVolume") => {
                let (name, volume) = Volume::read(json)?;
                self.volumes.insert(name, volume);
            }
            ("storage.k8s.io/v1", "StorageClass") => {
                let (name, class) = Class::read(json)?;
                self.classes.insert(name, class);
            }
            ("policy/v1", "PodDisruptionBudget") => {
                let budget = Budget::read(json)?;
                self.budgets.entry(budget.namespace.clone()).or_default().push(budget);
            }
            ("v1", "ServiceAccount" | "Service") => {
                let (namespace, name) = meta::names(json)?;
                self.others.insert((kind.into(), namespace, name));
            }
            ("scheduling.k8s.io/v1", "PriorityClass") => {
                let (_, name) = meta::names(json)?;
                self.others.insert((kind.into(), "".into(), name));
            }
            ("v1", "Namespace") => {
                let (name, labels) = meta::labels(json)?;
                self.namespaces.insert(name, labels);
            }
            ("v1", "ResourceQuota") => {
                let (name, quota) = Quota::read(json)?;
                self.quotas.insert(name, quota);
            }
            (_, "ValidatingWebhookConfiguration") => {
                let kind = Kind::ValidatingWebhookConfiguration;
                self.webhooks.extend(Webhook::read(kind, json)?);
            }
            (_, "MutatingWebhookConfiguration") => {
                let kind = Kind::MutatingWebhookConfiguration;
                self.webhooks.extend(Webhook::read(kind, json)?);
            }
            ("discovery.k8s.io/v1", "EndpointSlice") => {
                if let Some((service, endpoints)) = Endpoints::read(json)? {
                    let all = self.endpoints.entry(service);
                    all.and_modify(|it| it.add(endpoints)).or_insert(endpoints);
                }
            }
            ("v1", "Event") => {
                if let Some((about, event)) = Event::read(json)? {
                    self.put_event(about, event);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn put(&mut self, set: Set) {
        self.sets.insert(owner(&set), set);
    }

    /// Returns whether the objects that belong to a set are needed.
    fn may_matter(&self, owner: &Owner) -> bool {
        self.keeps_all || self.sets.get(owner).is_none_or(|set| !set.is_healthy())
    }

    fn put_event(&mut self, about: About, mut event: Event) {
        let events = self.events.entry(about).or_default();
        // An event can close the gap between two others.
        while let Some(index) = events.iter().position(|it| it.continues(&event)) {
            event.absorb(&events.swap_remove(index));
        }
        events.push(event);
        events.sort_by_key(|it| std::cmp::Reverse(it.last));
        events.truncate(MOST_EVENTS);
    }

    /// Remembers that objects of a kind could not be read, in one namespace or in all. No rule then
    /// takes the absence of such an object for a fact.
    pub fn forbid(&mut self, kind: &str, namespace: Option<&str>) {
        self.forbidden.insert((kind.into(), namespace.map(Into::into)));
    }

    /// Returns whether all objects of a kind in a namespace are known.
    pub fn knows(&self, kind: &str, namespace: &str) -> bool {
        let is_forbidden = |namespace: Option<&str>| {
            self.forbidden.contains(&(kind.into(), namespace.map(Into::into)))
        };
        !is_forbidden(None) && !is_forbidden(Some(namespace))
    }

    /// Returns all sets, in the order of namespace, kind and name.
    pub fn sets(&self) -> impl Iterator<Item = &Set> {
        self.sets.values()
    }

    /// Returns the pods of a set that is not healthy.
    pub fn pods(&self, set: &Set) -> &[Pod] {
        self.pods.get(&owner(set)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the pod with the name of a pod of a StatefulSet that is not healthy, if it doesn't
    /// belong to the set.
    pub fn stranger(&self, namespace: &str, name: &str) -> Option<&Stranger> {
        self.strangers.get(&(namespace.into(), name.into()))
    }

    /// Returns the revisions of a set that is not healthy.
    pub fn revisions(&self, set: &Set) -> impl Iterator<Item = &Revision> {
        self.revisions.get(&owner(set)).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the revisions of sets that no controller owns.
    pub fn orphans(&self) -> impl Iterator<Item = &Revision> {
        self.orphans.values()
    }

    /// Returns the PodDisruptionBudgets of a namespace.
    pub fn budgets(&self, namespace: &str) -> &[Budget] {
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

    /// Returns the claim with this name.
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&Claim> {
        self.claims.get(&(namespace.into(), name.into()))
    }

    /// Returns the claims of a namespace whose names have this prefix.
    pub fn claims(
        &self,
        namespace: &str,
        prefix: &str,
    ) -> impl Iterator<Item = (&str, &Claim)> + use<'_> {
        let from: (Box<str>, Box<str>) = (namespace.into(), prefix.into());
        let all = self.claims.range(from.clone()..);
        let claims =
            all.take_while(move |((at, name), _)| *at == from.0 && name.starts_with(&*from.1));
        claims.map(|((_, name), claim)| (&**name, claim))
    }

    /// Returns the volume with this name.
    pub fn volume(&self, name: &str) -> Option<&Volume> {
        self.volumes.get(name)
    }

    /// Returns the storage class with this name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.get(name)
    }

    /// Returns whether there is a ServiceAccount or Service, or a PriorityClass (which is in no namespace),
    /// with this name.
    pub fn exists(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.others.contains(&(kind.into(), namespace.into(), name.into()))
    }

    /// Returns the labels of a namespace.
    pub(crate) fn labels_of_namespace(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.namespaces.get(name)
    }

    /// Returns the ResourceQuota with this name.
    pub fn quota(&self, namespace: &str, name: &str) -> Option<&Quota> {
        self.quotas.get(&(namespace.into(), name.into()))
    }

    /// Returns the webhooks of others without which no pod can be created.
    pub fn webhooks(&self) -> &[Webhook] {
        &self.webhooks
    }

    /// Returns these webhooks for changes.
    pub fn webhooks_mut(&mut self) -> &mut [Webhook] {
        &mut self.webhooks
    }

    /// Returns the endpoints of a Service, if it has slices of them.
    pub fn endpoints(&self, service: &(Box<str>, Box<str>)) -> Option<Endpoints> {
        self.endpoints.get(service).copied()
    }

    /// Returns the Pod Security level that a namespace enforces by its label.
    pub fn pod_security(&self, namespace: &str) -> Option<&str> {
        let labels = self.namespaces.get(namespace)?;
        labels.get("pod-security.kubernetes.io/enforce").map(String::as_str)
    }

    /// Returns all storage classes with their names, in alphabetical order.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &Class)> {
        self.classes.iter().map(|(name, class)| (&**name, class))
    }

    /// Returns the latest warnings about an object, newest first.
    pub fn events(&self, namespace: &str, kind: &str, name: &str) -> &[Event] {
        let about = (namespace.into(), kind.into(), name.into());
        self.events.get(&about).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the latest warnings about pods with such names as a DaemonSet gives, also about pods that
    /// no longer exist; none for a StatefulSet.
    pub(crate) fn events_of_daemons(&self, set: &Set) -> impl Iterator<Item = &Event> {
        let prefix = (set.kind() == WorkloadKind::DaemonSet).then(|| format!("{}-", set.name()));
        let begin = |prefix: &str| (set.namespace().into(), "Pod".into(), prefix.into());
        let all = prefix.as_deref().map(|prefix| self.events.range::<About, _>(begin(prefix)..));
        let is_own = move |about: &About| {
            let rest = about.2.strip_prefix(prefix.as_deref()?)?;
            Some((
                *about.0 == *set.namespace() && *about.1 == *"Pod",
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

    /// Returns the namespaces whose pods and events must be added because a set in them is not
    /// healthy according to its status, in alphabetical order.
    pub fn namespaces_with_unhealthy_sets(&self) -> Vec<&str> {
        self.namespaces(|set| !self.is_healthy(set))
    }

    /// Returns the volumes of a storage class with their names.
    pub(crate) fn volumes_of<'a>(
        &'a self,
        class: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Volume)> {
        let volumes = self.volumes.iter().filter(move |(_, volume)| *volume.class == *class);
        volumes.map(|(name, volume)| (&**name, volume))
    }

    /// Returns the namespaces whose claims must be added, in alphabetical order.
    pub fn namespaces_with_claim_templates(&self) -> Vec<&str> {
        self.namespaces(Set::has_claim_templates)
    }

    fn namespaces(&self, wanted: impl Fn(&Set) -> bool) -> Vec<&str> {
        let mut namespaces: Vec<_> =
            self.sets().filter(|set| wanted(set)).map(Set::namespace).collect();
        namespaces.dedup();
        namespaces
    }

    /// Returns whether a set is healthy according to its status, and the status is up to date with
    /// the nodes. The controller does not update the status of a DaemonSet when a node gets a taint
    /// that keeps only new pods away.
    ///
    /// Kubernetes: `syncNodeUpdate`, pkg/controller/daemon/daemon_controller.go.
    pub fn is_healthy(&self, set: &Set) -> bool {
        let State::DaemonSet(daemons) = &set.state else { return set.is_healthy() };
        let is_up_to_date = || {
            let placements =
                placements(&daemons.spec.template.placing, self.nodes().map(|node| &node.place));
            let wanted = placements.iter().filter(|it| **it == Placement::Runs).count();
            usize::try_from(daemons.status.desired_number_scheduled) == Ok(wanted)
        };
        set.is_healthy() && (!set.is_current() || !self.knows("Node", "") || is_up_to_date())
    }
}

fn owner(set: &Set) -> Owner {
    Owner { namespace: set.namespace().into(), kind: set.kind(), name: set.name().into() }
}
