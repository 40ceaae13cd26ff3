//! The known part of the cluster: the objects as the API server sent them, kept as JSON. The rules
//! see the same parts of them as in an audit.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, de::IgnoredAny};
use setguard_core::{
    kubernetes::kind::Kind,
    object::namespace_or_default,
    observed::{Event, Observed},
};
use tokio::sync::Notify;

use super::target::Target;
use crate::{
    audit::collections::{AROUND, CLAIMS, Collection, SETS, UNHEALTHY, VOLUMES},
    live::{call::Problem, follower::Listener, message::Meta, reader::List},
};

/// The followed collections.
#[derive(Debug)]
pub(crate) struct WatchedCluster {
    targets: Vec<Target>,
    sources: Vec<Source>,
    /// Whether something has changed since this was last cleared.
    pub(crate) has_changed: bool,
}

/// A collection that is followed, in one namespace or in all.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) collection: &'static Collection,
    pub(crate) namespace: Option<String>,
    /// The objects by namespace and name.
    objects: BTreeMap<(String, String), String>,
    state: State,
    /// The reason why the API server cannot be followed at present.
    lost: Option<String>,
    /// Whether a watch has broken off and is about to be resumed.
    is_broken: bool,
}

#[derive(Debug)]
enum State {
    Unread,
    Known,
    Forbidden(String),
}

/// Takes in a followed collection of the cluster.
pub(crate) struct WatchedSource<'a> {
    pub(crate) cluster: &'a RefCell<WatchedCluster>,
    pub(crate) index: usize,
    /// Notified of each change.
    pub(crate) news: &'a Notify,
}

impl WatchedSource<'_> {
    /// Changes the source. `change` returns whether the rules may see a difference.
    fn change(&self, change: impl FnOnce(&mut Source, &[Target]) -> bool) {
        let WatchedCluster { targets, sources, has_changed } = &mut *self.cluster.borrow_mut();
        if let Some(source) = sources.get_mut(self.index) {
            *has_changed |= change(source, targets);
            self.news.notify_one();
        }
    }

    fn resume(source: &mut Source) -> bool {
        let was_lost = source.lost.take().is_some();
        std::mem::take(&mut source.is_broken) || was_lost
    }
}

/// What is kept of an object is decided page by page, so that no more than a page is in memory.
impl Listener for WatchedSource<'_> {
    type Listed = Vec<String>;

    fn begin(&mut self) -> Vec<String> {
        // The list says when the known state is out of date.
        self.change(|source, _| {
            source.is_broken = true;
            false
        });
        Vec::new()
    }

    fn listed(&mut self, listed: &mut Vec<String>, object: &str) {
        listed.extend(self.cluster.borrow().keep(self.index, object));
    }

    fn complete(&mut self, listed: Vec<String>, _: &str, is_certain: bool) {
        self.change(|source, _| {
            source.objects.clear();
            listed.into_iter().for_each(|json| {
                source.put(json);
            });
            source.state = State::Known;
            if is_certain {
                Self::resume(source);
            }
            true
        });
    }

    fn applied(&mut self, object: &str) {
        self.change(|source, targets| {
            source.keep(targets, object).is_some_and(|json| source.put(json))
        });
    }

    fn deleted(&mut self, meta: &Meta<'_>) {
        let key = (meta.namespace.clone().into_owned(), meta.name.clone().into_owned());
        self.change(|source, _| source.objects.remove(&key).is_some());
    }

    fn current(&mut self, _: &str) {
        self.change(|source, _| Self::resume(source));
    }

    fn broken(&mut self) {
        self.change(|source, _| {
            source.is_broken = true;
            false
        });
    }

    fn failed(&mut self, problem: &Problem, is_first: bool) {
        if !is_first {
            self.change(|source, _| source.lost.replace(problem.to_string()).is_none());
        }
    }

    fn forbidden(&mut self, why: &str) {
        self.change(|source, _| {
            Self::resume(source);
            // The known objects are out of date.
            source.objects.clear();
            source.state = State::Forbidden(why.to_owned());
            true
        });
    }
}

/// The fields that determine whether an object is kept.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    metadata: Names,
    involved_object: Option<Names>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    namespace: String,
    name: String,
    uid: String,
    annotations: BTreeMap<String, IgnoredAny>,
}

/// The most events that are kept of a namespace.
const MOST_EVENTS: usize = 5_000;
/// Kinds that the rules know from an audit, and that are not followed.
const UNREAD: [Kind; 5] = [
    Kind::EndpointSlice,
    Kind::MutatingWebhookConfiguration,
    Kind::ResourceQuota,
    Kind::Service,
    Kind::ValidatingWebhookConfiguration,
];

impl WatchedCluster {
    /// Returns the collections to follow for these sets.
    pub(crate) fn around(targets: Vec<Target>) -> Self {
        let namespaces = |wants: &dyn Fn(&Target) -> bool| -> BTreeSet<String> {
            let targets = targets.iter().filter(|it| wants(it));
            targets.map(|it| it.namespace.clone()).collect()
        };
        let mut sources = Vec::new();
        let mut follow = |collection: &'static Collection, namespace: Option<&String>| {
            sources.push(Source::of(collection, namespace.cloned()));
        };
        for collection in &SETS {
            let is_of_kind = |it: &Target| Kind::from(it.kind) == collection.kind;
            namespaces(&is_of_kind).iter().for_each(|it| follow(collection, Some(it)));
        }
        let with_claims = namespaces(&|it| it.has_claims);
        let around = |kind: Kind| AROUND.iter().find(|it| it.kind == kind);
        around(Kind::Node).into_iter().for_each(|it| follow(it, None));
        if !with_claims.is_empty() {
            around(Kind::StorageClass)
                .into_iter()
                .chain([&VOLUMES])
                .for_each(|it| follow(it, None));
            with_claims.iter().for_each(|it| follow(&CLAIMS, Some(it)));
        }
        for namespace in &namespaces(&|_| true) {
            UNHEALTHY.iter().for_each(|collection| follow(collection, Some(namespace)));
        }
        WatchedCluster { targets, sources, has_changed: true }
    }

    /// Returns the sets to wait for.
    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Returns the lists of the followed collections, in the order of their indexes.
    pub(crate) fn lists(&self) -> Vec<List> {
        let lists = self.sources.iter();
        lists.map(|it| it.collection.list(it.namespace.as_deref())).collect()
    }

    /// Returns what is kept of an object of a source; `None` if it does not matter.
    pub(crate) fn keep(&self, index: usize, json: &str) -> Option<String> {
        self.sources.get(index)?.keep(&self.targets, json)
    }

    /// Returns whether all collections that may be read have been read, and are followed.
    pub(crate) fn is_complete(&self) -> bool {
        !self.sources.iter().any(|it| it.is_broken || matches!(it.state, State::Unread))
    }

    /// Returns the reason why the API server cannot be followed at present.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.sources.iter().find_map(|it| it.lost.as_deref())
    }

    /// Returns the collections that may not be read: the collection, its namespace, and the answer
    /// of the API server.
    pub(crate) fn forbidden(&self) -> impl Iterator<Item = (&Source, &str)> {
        self.sources.iter().filter_map(|it| match &it.state {
            State::Forbidden(why) => Some((it, why.as_str())),
            _ => None,
        })
    }

    /// Returns the cluster as the rules see it.
    ///
    /// # Errors
    /// Returns an error if an object cannot be read.
    pub(crate) fn observe(&self) -> Result<Observed, String> {
        let mut observed = Observed::keeping_all();
        UNREAD.iter().for_each(|kind| observed.forbid(*kind, None));
        for source in &self.sources {
            let kind = source.collection.kind;
            if matches!(source.state, State::Forbidden(_)) {
                observed.forbid(kind, source.namespace.as_deref());
            }
            for json in source.objects.values() {
                observed
                    .add(kind, json)
                    .map_err(|error| format!("a {kind} cannot be read: {error}"))?;
            }
        }
        Ok(observed)
    }

    /// Returns whether a set has an annotation.
    pub(crate) fn has_annotation(&self, target: &Target, key: &str) -> bool {
        let key_of_set = (target.namespace.clone(), target.name.clone());
        let mut sets = self.sources.iter().filter(|it| it.collection.kind == target.kind.into());
        let json = sets.find_map(|it| it.objects.get(&key_of_set));
        let head = json.and_then(|json| serde_json::from_str::<Head>(json).ok());
        head.is_some_and(|head| head.metadata.annotations.contains_key(key))
    }

    /// Returns the uid of a pod.
    pub(crate) fn uid_of_pod(&self, namespace: &str, name: &str) -> Option<String> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut pods = self.sources.iter().filter(|it| it.collection.kind == Kind::Pod);
        let json = pods.find_map(|it| it.objects.get(&key))?;
        serde_json::from_str::<Head>(json).ok().map(|it| it.metadata.uid)
    }
}

impl Source {
    fn of(collection: &'static Collection, namespace: Option<String>) -> Self {
        Source {
            collection,
            namespace,
            objects: BTreeMap::new(),
            state: State::Unread,
            lost: None,
            is_broken: false,
        }
    }

    /// Returns what is kept of an object; `None` if it does not matter. An invalid object is reported when the rules need
    /// it.
    fn keep(&self, targets: &[Target], json: &str) -> Option<String> {
        match serde_json::from_str::<Head>(json) {
            Ok(head) if !self.matters(targets, &head) => None,
            Ok(_) => self.slim(json),
            Err(_) => Some(json.to_owned()),
        }
    }

    /// Keeps an object. Returns whether that changes anything.
    fn put(&mut self, json: String) -> bool {
        let head = serde_json::from_str::<Head>(&json).ok();
        let key = head.map(|it| (it.metadata.namespace, it.metadata.name)).unwrap_or_default();
        let is_full = self.collection.kind == Kind::Event && self.objects.len() >= MOST_EVENTS;
        if is_full && !self.objects.contains_key(&key) {
            return false;
        }
        let before = self.objects.insert(key.clone(), json);
        before.as_ref() != self.objects.get(&key)
    }

    /// Returns whether an object is one of the sets, or may belong to one: the names of pods,
    /// revisions, claims and events begin with or contain the name of their set.
    fn matters(&self, targets: &[Target], head: &Head) -> bool {
        if self.namespace.is_none() {
            return true;
        }
        let about = head.involved_object.as_ref().unwrap_or(&head.metadata);
        let here = namespace_or_default(Some(&head.metadata.namespace));
        let mut here = targets.iter().filter(|it| it.namespace == here);
        match self.collection.kind {
            kind @ (Kind::DaemonSet | Kind::StatefulSet) => {
                here.any(|it| Kind::from(it.kind) == kind && it.name == about.name)
            }
            _ => here.any(|it| about.name.contains(&it.name)),
        }
    }

    /// Returns an object without large parts that aren't needed; `None` if nothing of it is. The controller's mark in a
    /// set is needed.
    fn slim(&self, json: &str) -> Option<String> {
        match self.collection.kind {
            Kind::Event => Event::reduced(json).unwrap_or_else(|_| Some(json.to_owned())),
            Kind::Node => Some(slim_node(json).unwrap_or_else(|| json.to_owned())),
            _ => Some(json.to_owned()),
        }
    }
}

/// Returns a node with its conditions; `None` if it isn't JSON.
fn slim_node(json: &str) -> Option<String> {
    let mut node = serde_json::from_str::<serde_json::Value>(json).ok()?;
    if let Some(metadata) = node["metadata"].as_object_mut() {
        ["managedFields", "resourceVersion", "annotations"].iter().for_each(|key| {
            metadata.shift_remove(*key);
        });
    }
    if let Some(status) = node["status"].as_object_mut() {
        status.retain(|key, _| key == "conditions");
    }
    let conditions = node["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten().filter_map(|it| it.as_object_mut()) {
        // The heartbeat changes every few minutes without any meaning for the rules.
        condition.shift_remove("lastHeartbeatTime");
    }
    Some(node.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use setguard_core::kubernetes::resource::WorkloadKind;

    /// Whoever may create events chooses how many there are, and how long they are.
    #[test]
    fn events_take_little_memory() {
        let kind = WorkloadKind::StatefulSet;
        let target =
            Target { namespace: "shop".to_owned(), kind, name: "db".to_owned(), has_claims: false };
        let world = WatchedCluster::around(vec![target]);
        let is_of_events = |it: &Source| it.collection.kind == Kind::Event;
        let index = world.sources.iter().position(is_of_events).unwrap();
        let event = |name: &str, reason: &str| {
            json!({
                "metadata": {"name": name, "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z",
                             "annotations": {"a": "x".repeat(200_000)}},
                "involvedObject": {"kind": "Pod", "name": "db-0", "namespace": "shop"},
                "type": "Warning", "reason": reason, "message": "x".repeat(200_000),
                "lastTimestamp": "2026-01-01T00:00:07Z",
            })
            .to_string()
        };
        assert_eq!(world.keep(index, &event("a", "Pulled")), None);
        let kept = world.keep(index, &event("a", "FailedMount")).unwrap();
        assert!(kept.len() < 2_000, "{kept}");
        let read = |json: &str| {
            let mut observed = Observed::keeping_all();
            observed.add(Kind::Event, json).unwrap();
            format!("{:?}", observed.events("shop", Kind::Pod, "db-0"))
        };
        assert_eq!(read(&kept), read(&event("a", "FailedMount")));
        let many = (0..2 * MOST_EVENTS).map(|i| kept.replacen("\"a\"", &format!("\"a{i}\""), 1));
        let (world, news) = (RefCell::new(world), Notify::new());
        let mut source = WatchedSource { cluster: &world, index, news: &news };
        source.complete(many.collect(), "7", true);
        assert_eq!(world.borrow().sources[index].objects.len(), MOST_EVENTS);
    }
}
