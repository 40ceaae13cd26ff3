//! A large cluster that lists, streams and watches like an API server. It generates objects on the fly, to save
//! memory.

use std::io::{self, BufReader, Write as _};

use crate::prelude::*;
use crate::{http, http::Request, reviews};

/// The number of namespaces with objects.
const NAMESPACES: usize = 200;
/// The number of sets of each kind that own pods: a multiple that puts owner and pod in the same namespace.
const OWNERS: usize = 12 * NAMESPACES;
const NOTHING: &str = r#"{"metadata":{},"items":[]}"#;

#[derive(Clone)]
pub struct Cluster {
    minor: &'static str,
    kinds: Vec<Kind>,
    /// The bytes sent in lists, by kind.
    sent: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

#[derive(Clone)]
struct Kind {
    plural: &'static str,
    /// One in this many objects is unhealthy; 0 for none.
    unhealthy: usize,
    /// An object with the placeholders `@NAME@` and `@NAMESPACE@`.
    template: String,
    count: usize,
    /// The number of sets of each kind that own pods.
    owners: usize,
}

impl Cluster {
    pub fn empty(minor: &'static str) -> Self {
        let mut cluster = Cluster::full(minor);
        cluster.kinds.iter_mut().for_each(|kind| kind.count = 0);
        cluster
    }

    /// 5,000 DaemonSets and StatefulSets, 20,000 Deployments, 10,000 Services, 5,000 nodes and 5,000
    /// PodDisruptionBudgets.
    pub fn full(minor: &'static str) -> Self {
        let small = |kind: &str| json!({"kind": kind, "metadata": metadata(2)});
        let budget = json!({
            "kind": "PodDisruptionBudget", "metadata": metadata(6),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "@NAME@"}}},
        });
        Cluster {
            minor,
            sent: Arc::default(),
            kinds: vec![
                Kind::new("daemonsets", &workload("DaemonSet"), 2_500),
                Kind::new("statefulsets", &workload("StatefulSet"), 2_500),
                Kind::new("deployments", &workload("Deployment"), 20_000),
                Kind::new("services", &service(), 10_000),
                Kind::new("nodes", &node(), 5_000),
                Kind::new("poddisruptionbudgets", &budget, 5_000),
                Kind::new("namespaces", &small("Namespace"), NAMESPACES),
                Kind::new("storageclasses", &small("StorageClass"), 5),
                Kind::new("priorityclasses", &small("PriorityClass"), 5),
            ],
        }
    }

    /// Adds the objects that only an audit reads: 150,000 pods, 15,000 revisions and 5,000 service accounts. One in
    /// `unhealthy` sets waits for a pod; none if 0.
    pub fn audited(unhealthy: usize) -> Self {
        let mut cluster = Cluster::full("36");
        for kind in cluster.kinds.iter_mut().filter(|kind| kind.plural.ends_with("sets")) {
            kind.unhealthy = unhealthy;
            if kind.plural == "daemonsets" {
                kind.template = for_three_nodes(workload("DaemonSet")).to_string();
            }
        }
        let small = |kind: &str, fields| json!({"kind": kind, "metadata": metadata(fields)});
        cluster.kinds.extend([
            Kind::new("pods", &pod(), 150_000),
            Kind::new("controllerrevisions", &small("ControllerRevision", 12), 15_000),
            Kind::new("serviceaccounts", &small("ServiceAccount", 2), 5_000),
            Kind::new("events", &small("Event", 2), 0),
        ]);
        cluster
    }

    /// A fifth of the sets and their surroundings, on 200 nodes, with 20,000 pods; see [`audited`](Self::audited).
    pub fn audited_small(unhealthy: usize) -> Self {
        let mut cluster = Cluster::audited(unhealthy);
        for kind in &mut cluster.kinds {
            kind.owners = 2 * NAMESPACES;
            kind.count = match kind.plural {
                "pods" => 20_000,
                "nodes" | "namespaces" => 200,
                "storageclasses" | "priorityclasses" => kind.count,
                _ => kind.count / 5,
            };
        }
        cluster
    }

    /// The bytes sent in lists, by kind.
    pub fn sent(&self) -> BTreeMap<&'static str, usize> {
        self.sent.lock().expect("an unpoisoned lock").clone()
    }

    /// The number of objects, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let count = self.kinds.iter().map(|kind| kind.count).sum();
        (count, self.kinds.iter().map(|kind| kind.count * kind.template.len()).sum())
    }

    pub fn serve(self, folder: &Path) -> PathBuf {
        let address = http::listen(move |stream| self.answer(stream));
        let path = folder.join(format!("kubeconfig-{}", address.port()));
        fs::write(&path, http::kubeconfig(&format!("http://{address}"))).expect("a file");
        path
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let request = Request::read(&mut BufReader::new(stream.try_clone()?))?;
        let Some(request) = request else { return Ok(()) };
        let (_, uri) = request.line();
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let value = |key: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let plural = path.rsplit('/').next().unwrap_or_default();
        // No OpenKruise; and nothing by label, because only the search for bare ReplicaSets uses labels.
        if path.contains("kruise") {
            return http::answer(&mut stream, "404 x", http::LAST, "");
        }
        if value("labelSelector").is_some() {
            return whole(&mut stream, NOTHING);
        }
        let Some(kind) = self.kinds.iter().find(|kind| kind.plural == plural) else {
            // `/apis/GROUP/VERSION/PLURAL` or `/api/v1/PLURAL`: an empty list.
            let parts = path.split('/').filter(|part| !part.is_empty()).count();
            if path.starts_with("/apis/") && parts > 3 || path.starts_with("/api/") && parts > 2 {
                return whole(&mut stream, NOTHING);
            }
            let version = format!("v1.{}.0", self.minor);
            let body = json!({"major": "1", "minor": self.minor, "gitVersion": version});
            return whole(&mut stream, &body.to_string());
        };
        if value("watch") == Some("true") {
            let seconds = value("timeoutSeconds").and_then(|it| it.parse().ok()).unwrap_or(60);
            let streams = value("sendInitialEvents") == Some("true");
            return kind.watch(&mut stream, Duration::from_secs(seconds), streams);
        }
        let number = |key| value(key).and_then(|it| it.parse::<usize>().ok());
        let namespace = path.split_once("/namespaces/").and_then(|(_, rest)| rest.split_once('/'));
        let indices = match namespace {
            Some((namespace, _)) => kind.indices_in(namespace),
            None => (0..kind.count).collect(),
        };
        let page = kind.page(&indices, number("continue").unwrap_or(0), number("limit"));
        *self.sent.lock().expect("an unpoisoned lock").entry(kind.plural).or_default() +=
            page.len();
        whole(&mut stream, &page)
    }
}

impl Kind {
    fn new(plural: &'static str, template: &Value, count: usize) -> Self {
        Kind { plural, unhealthy: 0, template: template.to_string(), count, owners: OWNERS }
    }

    fn object(&self, i: usize) -> String {
        let namespace = match i % NAMESPACES {
            0 => "default".to_owned(),
            i => format!("team-{i}"),
        };
        // The pods of a namespace belong to the sets there.
        let (of, number) = (i % self.owners, i / self.owners);
        let (kind, owner) = match number % 2 {
            0 => ("DaemonSet", format!("daemonsets-{of}")),
            _ => ("StatefulSet", format!("statefulsets-{of}")),
        };
        let name = match self.plural {
            "pods" => format!("{owner}-{}", number / 2),
            plural => format!("{plural}-{i}"),
        };
        // One in each block, each time in a different namespace.
        let is_unhealthy =
            self.unhealthy > 0 && i % self.unhealthy == i / self.unhealthy % self.unhealthy;
        let ready = if is_unhealthy { "2" } else { "3" };
        let object = self.template.replace("@NAMESPACE@", &namespace).replace("@NAME@", &name);
        let object = object.replace("@OWNER@", &owner).replace("@OWNER-KIND@", kind);
        object.replace("\"@READY@\"", ready)
    }

    fn indices_in(&self, namespace: &str) -> Vec<usize> {
        let number = namespace.strip_prefix("team-").map_or(Ok(0), str::parse);
        let first = number.unwrap_or(self.count);
        (first..self.count).step_by(NAMESPACES).collect()
    }

    fn page(&self, indices: &[usize], first: usize, limit: Option<usize>) -> String {
        let rest = indices.get(first..).unwrap_or_default();
        let here = rest.get(..limit.unwrap_or(rest.len())).unwrap_or(rest);
        let objects: Vec<String> = here.iter().map(|i| self.object(*i)).collect();
        let end = first + here.len();
        let next = if end < indices.len() { end.to_string() } else { String::new() };
        let metadata = json!({"resourceVersion": "1000000", "continue": next});
        format!("{{\"metadata\":{metadata},\"items\":[{}]}}", objects.join(","))
    }

    fn watch(&self, stream: &mut TcpStream, lasts: Duration, streams: bool) -> io::Result<()> {
        let end = Instant::now() + lasts;
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        let mut chunk = |line: String| write!(stream, "{:x}\r\n{line}\n\r\n", line.len() + 1);
        if streams {
            for i in 0..self.count {
                chunk(format!("{{\"type\":\"ADDED\",\"object\":{}}}", self.object(i)))?;
            }
            let marks = json!({"k8s.io/initial-events-end": "true"});
            let metadata = json!({"resourceVersion": "1000000", "annotations": marks});
            chunk(json!({"type": "BOOKMARK", "object": {"metadata": metadata}}).to_string())?;
        }
        thread::sleep(end.saturating_duration_since(Instant::now()));
        stream.write_all(b"0\r\n\r\n")
    }
}

fn whole(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    http::answer(stream, "200 OK", http::LAST, body)
}

/// A recorded DaemonSet with managedFields, turned into this kind.
fn workload(kind: &str) -> Value {
    let review = reviews::daemon_set_update(20);
    let mut review: Value = serde_json::from_slice(&review).expect("a review");
    let mut object = review["request"]["object"].take();
    let labels = json!({"app": "@NAME@", "team": "shop", "app.kubernetes.io/part-of": "shop"});
    object["kind"] = kind.into();
    object["metadata"]["name"] = "@NAME@".into();
    object["metadata"]["namespace"] = "@NAMESPACE@".into();
    object["metadata"]["labels"] = labels.clone();
    object["spec"]["selector"] = json!({"matchLabels": {"app": "@NAME@"}});
    object["spec"]["template"]["metadata"]["labels"] = labels;
    object["metadata"]["generation"] = 1.into();
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = "@NAME@".into();
        object["spec"]["replicas"] = 3.into();
        object["status"] = part("status of StatefulSet");
    } else {
        object["status"] = part("status of DaemonSet");
    }
    object
}

/// A part of an object, by its name in `cluster.json`.
fn part(name: &str) -> Value {
    let mut parts: Value = serde_json::from_str(include_str!("cluster.json")).expect("JSON");
    parts[name].take()
}

/// The DaemonSet for as many nodes as its status counts.
fn for_three_nodes(mut daemon_set: Value) -> Value {
    daemon_set["spec"]["template"]["spec"]["affinity"] = part("affinity of DaemonSet");
    daemon_set
}

fn pod() -> Value {
    let mut pod = workload("Pod");
    let template = pod["spec"]["template"]["spec"].take();
    pod["spec"] = template;
    pod["spec"]["nodeName"] = "nodes-1".into();
    pod["metadata"]["ownerReferences"] = part("owners of Pod");
    pod["status"] = part("status of Pod");
    pod
}

fn service() -> Value {
    let mut service = part("Service");
    service["metadata"] = metadata(8);
    service
}

fn node() -> Value {
    let image = |i: usize| {
        let name = format!("registry.example.com/team-{i}/image@sha256:{}", "0".repeat(64));
        json!({"names": [name], "sizeBytes": 100_000_000 + i})
    };
    let mut metadata = metadata(12);
    metadata["labels"] = part("labels of Node");
    json!({
        "kind": "Node", "metadata": metadata, "spec": {"podCIDR": "10.1.0.0/24"},
        "status": {"images": (0..50).map(image).collect::<Vec<_>>()},
    })
}

fn metadata(fields: usize) -> Value {
    let fields = (0..fields).map(|i| (format!("f:field-number-{i}"), json!({".": {}, "f:x": {}})));
    let mut metadata = part("metadata");
    metadata["managedFields"][0]["fieldsV1"] = Value::Object(fields.collect());
    metadata
}
