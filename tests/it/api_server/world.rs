//! The objects of the server, and its faults.

use crate::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Streams {
    #[default]
    Complete,
    /// As with the feature gate WatchList off.
    Refused,
    /// Sends the objects, but never the bookmark.
    WithoutEnd,
    /// Sends the objects and an error, like an etcd that cannot report its progress.
    Fails,
    /// Sends the objects, then breaks the connection.
    CutOff,
    /// Sends the objects and an unreadable event.
    Unreadable,
}

#[derive(Debug, Default)]
pub struct World {
    /// By resource, namespace and name.
    pub(super) objects: BTreeMap<(String, String, String), Value>,
    /// Version, resource and watch line.
    pub(super) events: Vec<(u64, String, Value)>,
    pub(super) version: u64,
    pub streams: Streams,
    pub minor: &'static str,
    pub patch: &'static str,
    pub forbidden: BTreeSet<&'static str>,
    /// Watches from before this version fail with 410.
    pub compacted: u64,
    /// Keeps connections open without an answer.
    pub silent: bool,
    /// The server dies at a list of this resource.
    pub dies_at: Option<&'static str>,
    /// Holds back the second and later pages of lists.
    pub hold_pages: bool,
    /// Watches after a list send this line and end.
    pub watch_line: Option<String>,
    /// Breaks connections without an answer.
    pub cut: bool,
    /// The resource with an endless list. The flag repeats the continue token.
    pub endless: Option<(&'static str, bool)>,
    /// Holds back all lists.
    pub hold_lists: bool,
    /// Replaces the text of every list and watch.
    pub garbage: Option<String>,
    /// The content of `/metrics`; forbidden if `None`.
    pub metrics: Option<String>,
    /// API groups with their versions and resources that may have objects.
    pub custom: BTreeMap<&'static str, &'static str>,
    /// Answers this many requests with 429 first.
    pub busy: usize,
    /// Answers this many later pages with 410. The flag adds a continue token.
    pub gone: (usize, bool),
    /// The warning in the answer to a POST. The POST stores nothing.
    pub warning: &'static str,
    pub requests: Vec<String>,
    pub heads: Vec<String>,
    /// The current and the maximum number of concurrent lists.
    pub(super) listing: (usize, usize),
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

    pub(super) fn of(&self, resource: &str, namespace: Option<&str>) -> Vec<&Value> {
        let all = self.objects.iter().filter(|((of, ns, _), _)| {
            of == resource && namespace.is_none_or(|namespace| namespace == ns)
        });
        all.map(|(_, object)| object).collect()
    }

    /// Simulates a restore from a backup: clients know versions from the future.
    pub fn go_back(&mut self) {
        self.version = 1;
        self.events.clear();
    }

    pub fn version(&self) -> u64 {
        self.version
    }
}
