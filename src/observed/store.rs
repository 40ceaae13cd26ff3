//! Everything that was seen of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::set::Set;
use crate::kubernetes::resource::Kind;

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
    /// By namespace, kind and name.
    sets: BTreeMap<(Box<str>, Kind, Box<str>), Set>,
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
            _ => {}
        }
        Ok(())
    }

    fn put(&mut self, set: Set) {
        self.sets.insert((set.namespace().into(), set.kind(), set.name().into()), set);
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
