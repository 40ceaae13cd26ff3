use std::collections::HashSet;

use super::{
    file,
    fixed::Id,
    index::Index,
    labels::{Label, split},
    object_summary::Autoscaler,
    shards::Shards,
};
use crate::inventory::prelude::*;

/// Objects in insertion order, with indexes.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Each with its approximate bytes, without the parts that it shares with earlier objects.
    items: Shards<(usize, Arc<ObjectSummary>)>,
    pub(super) index: Index,
    /// Ids are never reused.
    next: u32,
    /// The memory of all items, without the indexes.
    bytes: usize,
}

impl Inventory {
    /// Adds an object and returns its index. Keeps objects with the same name, because an input may contain an object
    /// twice.
    pub fn add(&mut self, item: ObjectSummary) -> usize {
        let id = self.next;
        // Only objects of an input may have an unknown namespace.
        if matches!(
            item.kind,
            Kind::ConfigMap
                | Kind::ExternalSecret
                | Kind::Role
                | Kind::Secret
                | Kind::Service
                | Kind::ServiceAccount
        ) {
            self.index.insert(Key::Named(item.kind, &item.name), id);
        }
        self.insert_next(item) as usize
    }

    /// Adds or replaces an object. Returns whether any data that rules use changed.
    pub fn put(&mut self, item: ObjectSummary) -> bool {
        let Some(id) = self.find(item.kind, &item.namespace, &item.name) else {
            self.insert_next(item);
            return true;
        };
        if self.item(id).is_some_and(|old| *old == item) {
            return false;
        }
        self.remove_id(id);
        self.insert(id, item);
        true
    }

    /// Removes an object. The namespace of a cluster-scoped object is empty. Returns whether the object existed.
    pub fn remove(&mut self, kind: Kind, namespace: &str, name: &str) -> bool {
        let id = self.find(kind, namespace, name);
        id.is_some_and(|id| self.remove_id(id))
    }

    /// Returns the number of objects of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.ids(kind).len()
    }

    /// Returns the approximate memory of the inventory, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.items.bytes() + self.index.bytes()
    }

    /// Returns the object with this index.
    pub fn get(&self, index: usize) -> Option<&ObjectSummary> {
        self.item(u32::try_from(index).ok()?)
    }

    /// Returns the indexes of the objects that equal this one from a different inventory.
    pub fn same_as(&self, item: &ObjectSummary) -> impl Iterator<Item = usize> {
        let ids = self.index.get(Key::Object(item.kind, &item.namespace, &item.name)).iter();
        let same = |id: &&u32| self.item(**id).is_some_and(|other| other.is_same(item));
        ids.filter(same).map(|id| *id as usize)
    }

    /// Returns all objects with their indexes.
    pub fn items(&self) -> impl Iterator<Item = (usize, &ObjectSummary)> {
        (0..self.next).filter_map(|id| Some((id as usize, self.item(id)?)))
    }

    /// Returns the objects that pods need and that a change removes: `new` has them in no namespace.
    pub fn removed<'a>(&self, new: impl Iterator<Item = &'a ObjectSummary>) -> BTreeSet<Id> {
        // Helm deletes an object of a release that becomes a hook.
        let new = new.filter(|it| !it.is_hook());
        let there: HashSet<_> = new.map(|it| (it.kind(), it.name())).collect();
        let kinds =
            [Kind::ConfigMap, Kind::PersistentVolumeClaim, Kind::Secret, Kind::ServiceAccount];
        let old = self.items().map(|(_, item)| item);
        let old = old.filter(|it| kinds.contains(&it.kind()) && !it.is_kept() && !it.is_hook());
        let gone = old.filter(|it| !there.contains(&(it.kind(), it.name())));
        gone.map(|it| (it.kind(), it.namespace().into(), it.name().into())).collect()
    }

    pub(crate) fn named<'a>(
        &'a self,
        kind: Kind,
        namespace: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = &'a ObjectSummary> {
        let is_it = move |item: &&ObjectSummary| item.is(kind, namespace, name);
        self.list(Key::Object(kind, namespace, name)).filter(is_it)
    }

    /// Returns an input's objects with this kind and name, in any namespace, if others name this kind.
    pub(crate) fn named_anywhere<'a>(
        &'a self,
        kind: Kind,
        name: &'a str,
    ) -> impl Iterator<Item = &'a ObjectSummary> {
        let is_it = move |item: &&ObjectSummary| item.kind == kind && &*item.name == name;
        self.list(Key::Named(kind, name)).filter(is_it)
    }

    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = &ObjectSummary> {
        self.list(Key::Kind(kind)).filter(move |item| item.kind == kind)
    }

    pub(crate) fn has_any(&self, kind: Kind, namespace: &str) -> bool {
        !self.index.get(Key::In(kind, namespace)).is_empty()
    }

    pub(crate) fn in_namespace<'a>(
        &'a self,
        kind: Kind,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a ObjectSummary> {
        let is_there =
            move |item: &&ObjectSummary| item.kind == kind && &*item.namespace == namespace;
        self.list(Key::In(kind, namespace)).filter(is_there)
    }

    /// Returns the first autoscaler of this kind for an object, and its effect.
    pub(crate) fn autoscaler<'a>(
        &'a self,
        kind: Kind,
        of: &'a ObjectSummary,
    ) -> Option<(&'a ObjectSummary, &'a Autoscaler)> {
        self.autoscalers(kind, of).find(|(_, it)| &*it.kind == of.kind.as_str())
    }

    /// Returns the autoscalers whose target has the name of an object, even if its kind differs.
    pub(crate) fn autoscalers<'a>(
        &'a self,
        kind: Kind,
        of: &'a ObjectSummary,
    ) -> impl Iterator<Item = (&'a ObjectSummary, &'a Autoscaler)> {
        self.list(Key::Scaling(kind, &of.namespace, &of.name)).filter_map(move |item| {
            let there = item.kind == kind && item.namespace == of.namespace;
            Some((item, item.autoscaler().filter(|it| there && *it.name == *of.name)?))
        })
    }

    /// Returns the webhook configurations that need this Service, each with the port.
    pub(crate) fn callers<'a>(
        &'a self,
        service: &'a ObjectSummary,
    ) -> impl Iterator<Item = (&'a ObjectSummary, i64)> {
        self.list(Key::Called(&service.namespace, &service.name)).flat_map(move |item| {
            let its = item.webhooks().iter();
            let its = its.filter(|it| *it.0 == *service.namespace && *it.1 == *service.name);
            its.map(move |it| (item, it.2))
        })
    }

    /// Returns the webhook configurations that need a Service of this name in a different namespace, each with that
    /// namespace.
    pub(crate) fn callers_elsewhere<'a>(
        &'a self,
        service: &'a ObjectSummary,
    ) -> impl Iterator<Item = (&'a ObjectSummary, &'a str)> {
        self.list(Key::Called("", &service.name)).flat_map(move |item| {
            let its = item.webhooks().iter();
            let its = its.filter(|it| *it.0 != *service.namespace && *it.1 == *service.name);
            its.map(move |it| (item, &*it.0))
        })
    }

    /// Returns the Services of an input with this port on all nodes.
    pub(crate) fn with_node_port(&self, port: i64) -> impl Iterator<Item = &ObjectSummary> {
        let has = move |it: &&ObjectSummary| {
            it.service().is_some_and(|it| it.node_ports.binary_search(&port).is_ok())
        };
        self.list(Key::NodePort(port)).filter(has)
    }

    fn list(&self, key: Key<'_>) -> impl Iterator<Item = &ObjectSummary> {
        self.index.get(key).iter().filter_map(|id| self.item(*id))
    }

    pub(crate) fn item(&self, id: u32) -> Option<&ObjectSummary> {
        self.items.get(spread(id)).map(|(_, item)| &**item)
    }

    pub(super) fn ids(&self, kind: Kind) -> &[u32] {
        self.index.get(Key::Kind(kind))
    }

    pub(super) fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<u32> {
        let mut named = self.index.get(Key::Object(kind, namespace, name)).iter().copied();
        named.find(|id| self.item(*id).is_some_and(|item| item.is(kind, namespace, name)))
    }

    fn insert_next(&mut self, item: ObjectSummary) -> u32 {
        let id = self.next;
        self.next += 1;
        self.insert(id, item);
        id
    }

    fn insert(&mut self, id: u32, mut item: ObjectSummary) {
        let bytes = item.bytes() + self.share(&mut item);
        self.bytes += bytes;
        file::keys(&item, &mut |key| self.index.insert(key, id));
        // The selector is filed after the other keys, because the item counts itself: the best place is the one where
        // the fewest objects look.
        if let Some((selecting, selector)) = file::selects(&item) {
            for bucket in file::rarest(&self.index, &item.namespace, selector) {
                self.index.insert(Key::Filed(selecting, &item.namespace, bucket), id);
            }
        }
        self.items.insert(spread(id), (bytes, Arc::new(item)));
    }

    pub(super) fn remove_id(&mut self, id: u32) -> bool {
        let Some((bytes, item)) = self.items.remove(spread(id)) else { return false };
        self.bytes = self.bytes.saturating_sub(bytes);
        file::keys(&item, &mut |key| self.index.remove(key, id));
        if let Some((selecting, selector)) = file::selects(&item) {
            // The selector is filed in one of these places; the index does not record which.
            for bucket in selector.places().into_iter().flatten() {
                self.index.remove(Key::Filed(selecting, &item.namespace, bucket), id);
            }
        }
        true
    }

    /// Makes an object share strings with others. Returns the bytes of the labels that only it has.
    fn share(&self, item: &mut ObjectSummary) -> usize {
        let first = self.index.get(Key::In(item.kind, &item.namespace)).first();
        if let Some(other) = first.and_then(|id| self.item(*id))
            && other.namespace == item.namespace
        {
            item.namespace = other.namespace.clone();
        }
        let namespace = item.namespace.clone();
        let same = |label: &str| self.same_label(&namespace, label);
        match &mut item.role {
            Role::Controller(controller) => {
                let bytes = controller.labels.share(&same);
                let own = controller.labels.clone();
                let same = |label: &str| own.same(label).cloned().or_else(|| same(label));
                let selector = controller.selector.as_mut();
                bytes + selector.map_or(0, |selector| selector.share(&same))
            }
            Role::DisruptionBudget(budget) => {
                budget.selector.as_mut().map_or(0, |selector| selector.share(&same))
            }
            Role::Monitor(monitor) => monitor.selector.share(&same),
            Role::Node(node) => node.labels.share(&same),
            Role::Service(service) => service.selector.share(&same),
            Role::Access(_)
            | Role::Autoscaler(_)
            | Role::Config(_)
            | Role::Limits(_)
            | Role::Quota(_)
            | Role::StorageClass(_)
            | Role::Named
            | Role::Refused(_)
            | Role::Namespace(_)
            | Role::Traffic(_)
            | Role::Webhooks(_) => 0,
        }
    }

    fn same_label(&self, namespace: &str, label: &str) -> Option<Label> {
        let (key, value) = split(label);
        let key = if namespace.is_empty() {
            Key::NodeLabel(key, value)
        } else {
            Key::Looking(namespace, Bucket::Value(key, value))
        };
        let item = self.item(*self.index.get(key).first()?)?;
        let same = match &item.role {
            Role::Controller(controller) => controller.labels.same(label),
            Role::Node(node) => node.labels.same(label),
            _ => None,
        };
        same.cloned()
    }
}

const fn spread(id: u32) -> u64 {
    (id as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
