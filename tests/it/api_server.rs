//! A stand-in for the API server: lists in pages, streams lists, watches, and fails on demand.
//!
//! The server speaks plain HTTP/1.1, with one request for each connection, and a thread for each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read as _, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The groups that every API server has.
const BUILT_IN: [&str; 6] = [
    "admissionregistration.k8s.io",
    "apps",
    "discovery.k8s.io",
    "policy",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Before the names of OpenKruise's resources, whose objects have their type in lists too.
const KRUISE: &str = "kruise:";

/// The behavior for a list that a watch starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Streams {
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

/// The objects of the server, and its faults.
#[derive(Debug)]
pub struct World {
    /// By resource, namespace and name.
    objects: BTreeMap<(String, String, String), Value>,
    /// The events: the version, the resource, and the line of a watch.
    events: Vec<(u64, String, Value)>,
    version: u64,
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
    /// Watches send no bookmark before they end.
    pub without_bookmarks: bool,
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
    /// The heads of all requests.
    pub heads: Vec<String>,
    /// The lists that are being answered, and the most at one time.
    listing: (usize, usize),
    /// Whether the test is over.
    over: bool,
}

/// The running server.
pub struct ApiServer {
    shared: Arc<(Mutex<World>, Condvar)>,
    address: SocketAddr,
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.change(|world| world.over = true);
    }
}

impl ApiServer {
    pub fn start(minor: &'static str) -> Self {
        let world = World {
            objects: BTreeMap::new(),
            events: Vec::new(),
            version: 100,
            streams: Streams::Complete,
            minor,
            patch: "7",
            forbidden: BTreeSet::new(),
            compacted: 0,
            silent: false,
            dies_at: None,
            hold_pages: false,
            watch_line: None,
            without_bookmarks: false,
            cut: false,
            endless: None,
            hold_lists: false,
            garbage: None,
            metrics: None,
            custom: BTreeMap::new(),
            busy: 0,
            gone: (0, false),
            requests: Vec::new(),
            heads: Vec::new(),
            listing: (0, 0),
            over: false,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new((Mutex::new(world), Condvar::new()));
        let server = ApiServer { shared: shared.clone(), address };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = Connection { shared: shared.clone() };
                thread::spawn(move || connection.serve(stream));
            }
        });
        server
    }

    /// A kubeconfig for this server.
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let path = dir.join("kubeconfig");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        fs::write(&path, config.to_string()).unwrap();
        path
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.shared.0.lock().unwrap()
    }

    /// Changes the world, and wakes the threads that wait for that.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let changed = change(&mut self.world());
        self.shared.1.notify_all();
        changed
    }

    /// Creates or changes an object.
    pub fn apply(&self, resource: &str, object: &Value) {
        self.change(|world| world.apply(resource, object));
    }

    /// An object, if it is there.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        self.world().objects.get(&key).cloned()
    }

    pub fn delete(&self, resource: &str, namespace: &str, name: &str) {
        self.change(|world| world.delete(resource, namespace, name));
    }

    /// Returns the number of requests that contained this text.
    pub fn asked(&self, part: &str) -> usize {
        self.world().requests.iter().filter(|request| request.contains(part)).count()
    }

    /// The most lists that were answered at one time.
    pub fn lists_at_once(&self) -> usize {
        self.world().listing.1
    }
}

impl World {
    fn apply(&mut self, resource: &str, object: &Value) {
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

    fn delete(&mut self, resource: &str, namespace: &str, name: &str) {
        self.version += 1;
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let mut object = self.objects.remove(&key).unwrap();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let line = json!({"type": "DELETED", "object": object});
        self.events.push((self.version, resource.to_owned(), line));
    }

    /// The objects of a resource, in one namespace or in all.
    fn of(&self, resource: &str, namespace: Option<&str>) -> Vec<&Value> {
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

struct Connection {
    shared: Arc<(Mutex<World>, Condvar)>,
}

/// A parsed request.
struct Question {
    resource: String,
    namespace: Option<String>,
    query: BTreeMap<String, String>,
}

impl Connection {
    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.0.lock().unwrap()
    }

    /// Waits as long as this holds, and the test is not over.
    fn wait_while(&self, holds: impl Fn(&World) -> bool) -> MutexGuard<'_, World> {
        self.shared.1.wait_while(self.world(), |world| holds(world) && !world.over).unwrap()
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match reader.read_line(&mut head) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        let uri = head.split(' ').nth(1).unwrap().to_owned();
        let method = head.split(' ').next().unwrap().to_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let is_busy = {
            let mut world = self.world();
            world.requests.push(uri.clone());
            world.heads.push(head);
            let is_busy = world.busy > 0;
            world.busy -= usize::from(is_busy);
            is_busy
        };
        if self.world().cut {
            return;
        }
        if is_busy {
            let body = status(429, "too many requests");
            let _ = answer_with(&mut stream, 429, "Retry-After: 1\r\n", &body);
            return;
        }
        if self.world().silent {
            // The client waits on an open connection.
            drop(self.wait_while(|_| true));
            return;
        }
        let (path, query) = uri.split_once('?').unwrap_or((&uri, ""));
        {
            let mut world = self.world();
            if world.dies_at.is_some_and(|resource| path.ends_with(resource)) {
                world.dies_at = Some("");
                return;
            }
        }
        // The client may be gone.
        let _ = match path {
            "/version" => self.version(&mut stream),
            "/metrics" => self.metrics(&mut stream),
            _ if method == "GET" => self.resource(&mut stream, path, query),
            _ => self.write(&mut stream, &method, path, &body),
        };
    }

    fn version(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let World { minor, patch, .. } = *self.world();
        let version =
            json!({"major": "1", "minor": minor, "gitVersion": format!("v1.{minor}.{patch}")});
        answer(stream, 200, &version.to_string())
    }

    fn metrics(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        match self.world().metrics.clone() {
            Some(text) => answer(stream, 200, &text),
            None => answer(stream, 403, &status(403, "no metrics for you")),
        }
    }

    fn resource(&self, stream: &mut TcpStream, path: &str, query: &str) -> std::io::Result<()> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let parts: Vec<&str> = path.split('/').collect();
        if parts[1] == "apis" && !BUILT_IN.contains(&parts[2]) {
            let resources = self.world().custom.get(&*parts[2..4].join("/")).copied();
            let list = resources.map(|name| json!({"resources": [{"name": name}]}).to_string());
            match list {
                None => return answer(stream, 404, &status(404, "no such group")),
                Some(list) if parts.len() == 4 => return answer(stream, 200, &list),
                Some(_) => {}
            }
        }
        if parts.len() == 5 && parts[3] == "namespaces" {
            let key = ("namespaces".to_owned(), String::new(), parts[4].to_owned());
            let found = self.world().objects.get(&key).cloned();
            return match found {
                Some(object) => answer(stream, 200, &object.to_string()),
                None => answer(stream, 404, &status(404, "no such namespace")),
            };
        }
        if let ["", "apis", "apps", "v1", "namespaces", namespace, resource, name] = parts[..] {
            let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
            let found = self.world().objects.get(&key).cloned();
            return match found {
                Some(object) => answer(stream, 200, &object.to_string()),
                None => answer(stream, 404, &status(404, "no such object")),
            };
        }
        let place = parts.iter().position(|part| *part == "namespaces");
        let namespace = place.and_then(|at| parts.get(at + 1)).map(|it| (*it).to_owned());
        let prefix = if parts[2] == "apps.kruise.io" { KRUISE } else { "" };
        let resource = format!("{prefix}{}", parts.last().unwrap());
        let question = Question { resource, namespace, query };
        {
            let world = self.world();
            if world.forbidden.contains(&*question.resource) {
                return answer(stream, 403, &status(403, "you may not"));
            }
            if let Some(garbage) = world.garbage.clone() {
                drop(world);
                return answer(stream, 200, &garbage);
            }
        }
        if question.query.get("watch").is_some_and(|it| it == "true") {
            self.watch(stream, &question)
        } else {
            self.list(stream, &question)
        }
    }

    /// Server-side apply, merge patches and deletion, in a namespace.
    fn write(
        &self,
        stream: &mut TcpStream,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> std::io::Result<()> {
        let parts: Vec<&str> = path.split('/').collect();
        let [.., namespace, resource, name] = &parts[..] else { panic!("{path}") };
        let mut world = self.world();
        if world.forbidden.contains(resource) {
            return answer(stream, 403, &status(403, "you may not"));
        }
        match method {
            "PATCH" => {
                let patch: Value = serde_json::from_slice(body).unwrap();
                let key = ((*resource).to_owned(), (*namespace).to_owned(), (*name).to_owned());
                // A merge patch names no object.
                let mut object = match &patch["metadata"]["name"] {
                    Value::Null => world.objects[&key].clone(),
                    _ => Value::Null,
                };
                json_patch::merge(&mut object, &patch);
                world.apply(resource, &object);
            }
            "DELETE" => world.delete(resource, namespace, name),
            _ => panic!("{method} {path}"),
        }
        drop(world);
        answer(stream, 200, "{}")
    }

    fn list(&self, stream: &mut TcpStream, question: &Question) -> std::io::Result<()> {
        {
            let mut world = self.world();
            world.listing.0 += 1;
            world.listing.1 = world.listing.1.max(world.listing.0);
        }
        let endless = self.world().endless.filter(|(resource, _)| *resource == question.resource);
        if let Some((resource, same)) = endless {
            self.world().listing.0 -= 1;
            return answer(stream, 200, &endless_page(resource, same, &question.query));
        }
        let first: usize = question.query.get("continue").map_or(0, |it| it.parse().unwrap());
        let hold = |world: &World| world.hold_lists || (world.hold_pages && first > 0);
        if first > 0 && self.world().gone.0 > 0 {
            let mut world = self.world();
            world.gone.0 -= 1;
            world.listing.0 -= 1;
            let token = if world.gone.1 { first.to_string() } else { String::new() };
            let gone = json!({"kind": "Status", "code": 410, "message": "too old",
                "metadata": {"continue": token}});
            drop(world);
            return answer(stream, 410, &gone.to_string());
        }
        let page = {
            let world = self.wait_while(hold);
            let all = world.of(&question.resource, question.namespace.as_deref());
            let limit: usize = question.query.get("limit").map_or(1000, |it| it.parse().unwrap());
            let items = all.iter().skip(first).take(limit);
            let is_custom = question.resource.starts_with(KRUISE);
            let items: Vec<Value> =
                items.map(|it| if is_custom { (*it).clone() } else { bare(it) }).collect();
            let next =
                if first + limit < all.len() { (first + limit).to_string() } else { String::new() };
            let version = world.version.to_string();
            json!({"kind": "List", "metadata": {"resourceVersion": version, "continue": next}, "items": items})
        };
        // The client may begin its next list as soon as it has read the answer.
        self.world().listing.0 -= 1;
        answer(stream, 200, &page.to_string())
    }

    fn watch(&self, stream: &mut TcpStream, question: &Question) -> std::io::Result<()> {
        let query = |key: &str| question.query.get(key).map_or("", String::as_str);
        let end = Instant::now() + Duration::from_secs(query("timeoutSeconds").parse().unwrap());
        let mut is_cut = false;
        let mut last = None;
        let (mut seen, mut lines) = (query("resourceVersion").parse().unwrap_or(0), Vec::new());
        {
            let world = self.world();
            if query("sendInitialEvents") == "true" {
                if world.streams == Streams::Refused {
                    let why = "sendInitialEvents is forbidden for watch unless the WatchList \
                               feature gate is enabled";
                    return answer(stream, 422, &status(422, why));
                }
                let all = world.of(&question.resource, question.namespace.as_deref());
                lines.extend(all.iter().map(|it| json!({"type": "ADDED", "object": it})));
                if world.streams == Streams::Complete {
                    let marks = json!({"k8s.io/initial-events-end": "true"});
                    let version = world.version.to_string();
                    let metadata = json!({"resourceVersion": version, "annotations": marks});
                    lines.push(json!({"type": "BOOKMARK", "object": {"metadata": metadata}}));
                }
                if world.streams == Streams::Fails {
                    let why = "storage is (re)initializing: RequestWatchProgress is disabled";
                    let error: Value = serde_json::from_str(&status(500, why)).unwrap();
                    lines.push(json!({"type": "ERROR", "object": error}));
                }
                if world.streams == Streams::Unreadable {
                    lines.push(json!({"type": "ADDED", "object": []}));
                }
                is_cut = world.streams == Streams::CutOff;
                seen = world.version;
            } else if seen > world.version {
                return answer(stream, 504, &status(504, "Too large resource version"));
            } else if seen < world.compacted {
                let gone: Value = serde_json::from_str(&status(410, "too old")).unwrap();
                lines.push(json!({"type": "ERROR", "object": gone}));
            } else {
                last.clone_from(&world.watch_line);
            }
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                        Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )?;
        loop {
            for line in lines.drain(..) {
                let line = format!("{line}\n");
                write!(stream, "{:x}\r\n{line}\r\n", line.len())?;
            }
            if let Some(last) = last {
                write!(stream, "{:x}\r\n{last}\n\r\n0\r\n\r\n", last.len() + 1)?;
                return stream.flush();
            }
            stream.flush()?;
            if is_cut {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            let nothing_new = |world: &mut World| {
                world.silent || (!world.over && !world.cut && world.version <= seen)
            };
            let (world, _) =
                self.shared.1.wait_timeout_while(self.world(), left, nothing_new).unwrap();
            if world.silent {
                drop(world);
                drop(self.wait_while(|_| true));
                return Ok(());
            }
            if world.cut {
                return Ok(());
            }
            if world.over || Instant::now() >= end {
                if !world.without_bookmarks {
                    let metadata = json!({"resourceVersion": seen.to_string()});
                    let line = json!({"type": "BOOKMARK", "object": {"metadata": metadata}});
                    let line = format!("{line}\n");
                    write!(stream, "{:x}\r\n{line}\r\n", line.len())?;
                }
                break;
            }
            let news = world.events.iter().filter(|(version, resource, line)| {
                let namespace = line["object"]["metadata"]["namespace"].as_str();
                *version > seen
                    && *resource == question.resource
                    && question.namespace.as_deref().is_none_or(|it| Some(it) == namespace)
            });
            lines.extend(news.map(|(_, _, line)| line.clone()));
            seen = world.version;
        }
        stream.write_all(b"0\r\n\r\n")
    }
}

/// A page of a list that never ends, with objects that no other page has.
fn endless_page(resource: &str, same: bool, query: &BTreeMap<String, String>) -> String {
    let first: usize = query.get("continue").map_or(0, |it| it.parse().unwrap());
    let limit: usize = query.get("limit").map_or(1000, |it| it.parse().unwrap());
    let item = |i: usize| json!({"metadata": {"name": format!("{resource}-{i}"), "namespace": "shop"}, "spec": {}});
    let items: Vec<Value> = (first..first + limit).map(item).collect();
    let next = if same { 1 } else { first + limit };
    json!({"kind": "List", "metadata": {"resourceVersion": "100", "continue": next.to_string()},
        "items": items})
    .to_string()
}

/// An object as in a list: without its type.
fn bare(object: &Value) -> Value {
    let mut bare = object.clone();
    bare.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
    bare
}

fn status(code: u16, message: &str) -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message})
        .to_string()
}

fn answer(stream: &mut TcpStream, code: u16, body: &str) -> std::io::Result<()> {
    answer_with(stream, code, "", body)
}

fn answer_with(
    stream: &mut TcpStream,
    code: u16,
    headers: &str,
    body: &str,
) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {code} x\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}
