//! The objects of the server, and its faults.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The behavior for a list that a watch starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Streams {
    #[default]
    Complete,
    /// As if the feature gate WatchList were off.
    Refused,
    /// Sends the objects, and never the bookmark.
    WithoutEnd,
    /// Sends the objects and an error, as with an etcd that cannot report its progress.
    Fails,
    /// Sends the objects, and the connection breaks.
    CutOff,
    /// Sends the objects, and an event that cannot be read.
    Unreadable,
}

#[derive(Debug, Default)]
pub struct World {
    /// By resource, namespace and name.
    pub(super) objects: BTreeMap<(String, String, String), Value>,
    /// The events: the version, the resource, and the line of a watch.
    pub(super) events: Vec<(u64, String, Value)>,
    pub(super) version: u64,
    pub streams: Streams,
    pub minor: &'static str,
    pub patch: &'static str,
    /// Resources that no client may read.
    pub forbidden: BTreeSet<&'static str>,
    /// Watches from before this version fail, because it is gone.
    pub compacted: u64,
    /// Nothing is answered, and nothing is closed.
    pub silent: bool,
    /// A list of this resource is not answered, and nothing is after that: connections end.
    pub dies_at: Option<&'static str>,
    /// Lists after their first page wait as long as this is set.
    pub hold_pages: bool,
    /// Watches that follow a list send this line and end.
    pub watch_line: Option<String>,
    /// Connections break, and are not answered.
    pub cut: bool,
    /// The list of this resource never ends; with the same token each time if the flag is set.
    pub endless: Option<(&'static str, bool)>,
    /// No list is answered as long as this is set.
    pub hold_lists: bool,
    /// The text that is sent instead of any list or watch.
    pub garbage: Option<String>,
    /// The content of `/metrics`, which is forbidden without.
    pub metrics: Option<String>,
    /// Groups, with their versions and resources, of which there may be objects.
    pub custom: BTreeMap<&'static str, &'static str>,
    /// The number of requests that are answered with 429 before any other.
    pub busy: usize,
    /// The number of pages after the first that are answered with 410, and whether a token comes
    /// with it.
    pub gone: (usize, bool),
    /// All requests, with their queries.
    pub requests: Vec<String>,
    pub heads: Vec<String>,
    /// The lists that are being answered, and the most at one time.
    pub(super) listing: (usize, usize),
    /// Whether the test is over.
    pub(super) over: bool,
}

impl World {
    pub(super) fn apply(&mut self, resource: &str, object: &Value) {
        self.version += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or("").to_owned();
        let key = (resource.to_owned(), text("namespace"), text("name"));
        let known = self.objects.insert(key, object.clone()).is_some();
        let kind = if known { "MODIFIED" } else { "ADDED" };
        let line = json!({"type": kind, "object": object});
        self.events.push((self.version, resource.to_owned(), line));
    }

    pub(super) fn delete(&mut self, resource: &str, namespace: &str, name: &str) {
        self.version += 1;
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let mut object = self.objects.remove(&key).unwrap();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let line = json!({"type": "DELETED", "object": object});
        self.events.push((self.version, resource.to_owned(), line));
    }

    /// The objects of a resource, in one namespace or in all.
    pub(super) fn of(&self, resource: &str, namespace: Option<&str>) -> Vec<&Value> {
        let all = self.objects.iter().filter(|((of, ns, _), _)| {
            of == resource && namespace.is_none_or(|namespace| namespace == ns)
        });
        all.map(|(_, object)| object).collect()
    }

    /// Simulates a restore from a backup: the versions that clients know are in the future.
    pub fn go_back(&mut self) {
        self.version = 1;
        self.events.clear();
    }

    pub fn version(&self) -> u64 {
        self.version
    }
}
