//! The known part of the cluster, as JSON from the API server. The rules see the same fields as in an audit.

use serde::de::IgnoredAny;
use setguard_core::{object::namespace_or_default, observed::Event};
use tokio::sync::Notify;

use crate::live::{
    collections::{CLAIMS, SETS, UNHEALTHY, VOLUMES},
    follower::Listener,
    message::Meta,
};
use crate::prelude::*;

#[derive(Debug)]
pub(crate) struct WatchedCluster {
    targets: Vec<Target>,
    sources: Vec<Source>,
    /// Whether anything changed since this was last cleared.
    pub(crate) has_changed: bool,
}

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) collection: Collection,
    pub(crate) namespace: Option<String>,
    /// By namespace and name.
    objects: BTreeMap<(String, String), String>,
    state: State,
    /// Why the API server cannot be followed at present.
    lost: Option<String>,
    /// Whether a watch was interrupted and has not resumed.
    is_broken: bool,
}

#[derive(Debug)]
enum State {
    Unread,
    Known,
    Forbidden(String),
}

pub(crate) struct WatchedSource<'a> {
    pub(crate) cluster: &'a RefCell<WatchedCluster>,
    pub(crate) index: usize,
    pub(crate) news: &'a Notify,
}

impl WatchedSource<'_> {
    /// `change` returns whether the rules may see a difference.
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

/// `keep` decides page by page what to store, so that at most one page is in memory.
impl Listener for WatchedSource<'_> {
    type Listed = Vec<String>;

    fn begin(&mut self) -> Vec<String> {
        // The list determines when the known state is current again.
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
            source.objects.clear();
            source.state = State::Forbidden(why.to_owned());
            true
        });
    }
}

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

const MOST_EVENTS: usize = 5_000;
/// The rules read these kinds in an audit, but a wait does not follow them.
const UNREAD: [Kind; 5] = [
    Kind::EndpointSlice,
    Kind::MutatingWebhookConfiguration,
    Kind::ResourceQuota,
    Kind::Service,
    Kind::ValidatingWebhookConfiguration,
];

impl WatchedCluster {
    pub(crate) fn around(targets: Vec<Target>) -> Self {
        let namespaces = |wants: &dyn Fn(&Target) -> bool| -> BTreeSet<String> {
            let targets = targets.iter().filter(|it| wants(it));
            targets.map(|it| it.namespace.clone()).collect()
        };
        let mut sources = Vec::new();
        let mut follow = |collection: Collection, namespace: Option<&String>| {
            sources.push(Source::of(collection, namespace.cloned()));
        };
        for collection in SETS {
            let is_of_kind = |it: &Target| Kind::from(it.kind) == collection.kind;
            namespaces(&is_of_kind).iter().for_each(|it| follow(collection, Some(it)));
        }
        let with_claims = namespaces(&|it| it.has_claims);
        follow(Collection::of(Kind::Node), None);
        if !with_claims.is_empty() {
            follow(Collection::of(Kind::StorageClass), None);
            follow(VOLUMES, None);
            with_claims.iter().for_each(|it| follow(CLAIMS, Some(it)));
        }
        for namespace in &namespaces(&|_| true) {
            UNHEALTHY.iter().for_each(|collection| follow(*collection, Some(namespace)));
        }
        WatchedCluster { targets, sources, has_changed: true }
    }

    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }

    pub(crate) fn lists(&self) -> Vec<List> {
        let lists = self.sources.iter();
        lists.map(|it| it.collection.list(it.namespace.as_deref())).collect()
    }

    pub(crate) fn keep(&self, index: usize, json: &str) -> Option<String> {
        self.sources.get(index)?.keep(&self.targets, json)
    }

    /// Returns whether every readable collection has been read and is being followed.
    pub(crate) fn is_complete(&self) -> bool {
        !self.sources.iter().any(|it| it.is_broken || matches!(it.state, State::Unread))
    }

    pub(crate) fn lost(&self) -> Option<&str> {
        self.sources.iter().find_map(|it| it.lost.as_deref())
    }

    pub(crate) fn forbidden(&self) -> impl Iterator<Item = (&Source, &str)> {
        self.sources.iter().filter_map(|it| match &it.state {
            State::Forbidden(why) => Some((it, why.as_str())),
            _ => None,
        })
    }

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

    pub(crate) fn has_annotation(&self, target: &Target, key: &str) -> bool {
        let key_of_set = (target.namespace.clone(), target.name.clone());
        let mut sets = self.sources.iter().filter(|it| it.collection.kind == target.kind.into());
        let json = sets.find_map(|it| it.objects.get(&key_of_set));
        let head = json.and_then(|json| serde_json::from_str::<Head>(json).ok());
        head.is_some_and(|head| head.metadata.annotations.contains_key(key))
    }

    pub(crate) fn uid_of_pod(&self, namespace: &str, name: &str) -> Option<String> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut pods = self.sources.iter().filter(|it| it.collection.kind == Kind::Pod);
        let json = pods.find_map(|it| it.objects.get(&key))?;
        serde_json::from_str::<Head>(json).ok().map(|it| it.metadata.uid)
    }
}

impl Source {
    fn of(collection: Collection, namespace: Option<String>) -> Self {
        Source {
            collection,
            namespace,
            objects: BTreeMap::new(),
            state: State::Unread,
            lost: None,
            is_broken: false,
        }
    }

    /// Keeps an object that does not parse, so that the error is reported when the rules need the object.
    fn keep(&self, targets: &[Target], json: &str) -> Option<String> {
        match serde_json::from_str::<Head>(json) {
            Ok(head) if !self.matters(targets, &head) => None,
            Ok(_) => self.slim(json),
            Err(_) => Some(json.to_owned()),
        }
    }

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

    /// Returns whether an object is one of the sets, or may belong to one: the names of pods, revisions, claims and
    /// events contain the name of their set.
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

    /// Drops large parts that the rules don't need, but keeps a set's `managedFields`. Returns `None` if nothing
    /// remains.
    fn slim(&self, json: &str) -> Option<String> {
        match self.collection.kind {
            Kind::Event => Event::reduced(json).unwrap_or_else(|_| Some(json.to_owned())),
            Kind::Node => Some(slim_node(json).unwrap_or_else(|| json.to_owned())),
            _ => Some(json.to_owned()),
        }
    }
}

/// Of the status, keeps only the conditions.
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
        // The heartbeat changes every few minutes and means nothing to the rules.
        condition.shift_remove("lastHeartbeatTime");
    }
    Some(node.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use setguard_core::kubernetes::resource::WorkloadKind;

    /// Anybody who may create events controls their number and size.
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
