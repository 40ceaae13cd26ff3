//! Everything that was seen of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    claim::{Claim, Class, Volume},
    event::{About, Event},
    meta::Owner,
    node::Node,
    pod::Pod,
    revision::Revision,
    set::Set,
};
use crate::kubernetes::resource::Kind;

/// How many warnings are kept of one object: the latest.
const MOST_EVENTS: usize = 8;

/// How many sets are healthy by their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Healthy {
    /// DaemonSets.
    pub daemon_sets: usize,
    /// StatefulSets.
    pub stateful_sets: usize,
}

/// What a running cluster has, as far as the rules about status need it.
///
/// DaemonSets and StatefulSets must be added before the objects around them: what belongs to a set
/// that is healthy by its status is not kept. A kind that was neither added nor forbidden is taken to
/// have no objects.
#[derive(Debug, Default)]
pub struct Observed {
    sets: BTreeMap<Owner, Set>,
    nodes: BTreeMap<Box<str>, Node>,
    pods: BTreeMap<Owner, Vec<Pod>>,
    /// By namespace and name, like the others below.
    claims: BTreeMap<(Box<str>, Box<str>), Claim>,
    volumes: BTreeMap<Box<str>, Volume>,
    classes: BTreeMap<Box<str>, Class>,
    events: BTreeMap<About, Vec<Event>>,
    revisions: BTreeMap<Owner, Vec<Revision>>,
    /// Revisions of sets that no controller owns.
    orphans: Vec<Revision>,
    /// By kind and namespace; `None` stands for all namespaces.
    forbidden: BTreeSet<(Box<str>, Option<Box<str>>)>,
}

impl Observed {
    /// Adds an object of any kind; kinds that no rule needs are ignored. Needed are, in any order but
    /// the sets first:
    /// - `DaemonSet` and `StatefulSet` (`apps/v1`) and `Node`, always and whole;
    /// - `ControllerRevision` (`apps/v1`), always; its `data` is not read;
    /// - `PodDisruptionBudget` (`policy/v1`), always;
    /// - `PersistentVolumeClaim` of [`Observed::namespaces_with_claim_templates`];
    /// - `PersistentVolume` and `StorageClass` (`storage.k8s.io/v1`), if there are such namespaces;
    /// - `Pod` and `Event` (`v1`, of type `Warning`) of [`Observed::namespaces_with_unhealthy_sets`].
    ///
    /// # Errors
    /// When the JSON is not an object of this kind.
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
                    self.revisions.entry(owner).or_default().push(revision);
                }
                (None, orphan) if orphan.is_of_set && !orphan.is_owned => self.orphans.push(orphan),
                _ => {}
            },
            ("v1", "Node") => {
                let node = Node::read(json)?;
                self.nodes.insert(node.place.name.as_str().into(), node);
            }
            ("v1", "Pod") => {
                if let (Some(owner), pod) = Pod::read(json)?
                    && self.may_matter(&owner)
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

    /// Whether what belongs to a set is needed.
    fn may_matter(&self, owner: &Owner) -> bool {
        self.sets.get(owner).is_none_or(|set| !set.is_healthy())
    }

    fn put_event(&mut self, about: About, event: Event) {
        let events = self.events.entry(about).or_default();
        let same = |it: &&mut Event| it.reason == event.reason && it.message == event.message;
        if let Some(known) = events.iter_mut().find(same) {
            known.first = known.first.min(event.first);
            known.last = known.last.max(event.last);
            return;
        }
        events.push(event);
        events.sort_by_key(|it| std::cmp::Reverse(it.last));
        events.truncate(MOST_EVENTS);
    }

    /// Remembers that objects of a kind could not be read, in one namespace or in all: no rule then
    /// takes the absence of such an object for a fact.
    pub fn forbid(&mut self, kind: &str, namespace: Option<&str>) {
        self.forbidden.insert((kind.into(), namespace.map(Into::into)));
    }

    /// Whether it is known which objects of a kind there are in a namespace.
    pub fn knows(&self, kind: &str, namespace: &str) -> bool {
        let is_forbidden = |namespace: Option<&str>| {
            self.forbidden.contains(&(kind.into(), namespace.map(Into::into)))
        };
        !is_forbidden(None) && !is_forbidden(Some(namespace))
    }

    /// All sets, in the order of namespace, kind and name.
    pub fn sets(&self) -> impl Iterator<Item = &Set> {
        self.sets.values()
    }

    /// The pods of a set that is not healthy.
    pub fn pods(&self, set: &Set) -> &[Pod] {
        self.pods.get(&owner(set)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The revisions of a set that is not healthy.
    pub fn revisions(&self, set: &Set) -> &[Revision] {
        self.revisions.get(&owner(set)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The revisions of sets that no controller owns.
    pub fn orphans(&self) -> &[Revision] {
        &self.orphans
    }

    /// All nodes, in alphabetical order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> + Clone {
        self.nodes.values()
    }

    /// A node by its name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// A claim by its name.
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&Claim> {
        self.claims.get(&(namespace.into(), name.into()))
    }

    /// A volume by its name.
    pub fn volume(&self, name: &str) -> Option<&Volume> {
        self.volumes.get(name)
    }

    /// A storage class by its name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.get(name)
    }

    /// All storage classes with their names, in alphabetical order.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &Class)> {
        self.classes.iter().map(|(name, class)| (&**name, class))
    }

    /// The latest warnings about an object, the newest first.
    pub fn events(&self, namespace: &str, kind: &str, name: &str) -> &[Event] {
        let about = (namespace.into(), kind.into(), name.into());
        self.events.get(&about).map(Vec::as_slice).unwrap_or_default()
    }

    /// The namespaces of which pods and events must be added, because a set in them is not healthy by
    /// its status, in alphabetical order.
    pub fn namespaces_with_unhealthy_sets(&self) -> Vec<&str> {
        self.namespaces(|set| !set.is_healthy())
    }

    /// The namespaces of which claims must be added, in alphabetical order.
    pub fn namespaces_with_claim_templates(&self) -> Vec<&str> {
        self.namespaces(Set::has_claim_templates)
    }

    fn namespaces(&self, wanted: impl Fn(&Set) -> bool) -> Vec<&str> {
        let mut namespaces: Vec<_> =
            self.sets().filter(|set| wanted(set)).map(Set::namespace).collect();
        namespaces.dedup();
        namespaces
    }

    /// How many sets are healthy by their status.
    pub fn healthy(&self) -> Healthy {
        let mut healthy = Healthy::default();
        for set in self.sets().filter(|set| set.is_healthy()) {
            match set.kind() {
                Kind::DaemonSet => healthy.daemon_sets += 1,
                Kind::StatefulSet => healthy.stateful_sets += 1,
            }
        }
        healthy
    }
}

fn owner(set: &Set) -> Owner {
    Owner { namespace: set.namespace().into(), kind: set.kind(), name: set.name().into() }
}
