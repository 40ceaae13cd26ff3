//! The time that the webhooks, or the exported policies, add to a dry-run write at a real API server.
//!
//! Each side has its own namespace, and the sides take turns from write to write: the machine's speed varies more
//! within a second than the measured differences.

use std::{env, net::SocketAddr, path::Path, process::Command, time::Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Deserializer, Value, json};

use crate::{
    Arguments, certificate,
    harness::{
        control_plane::{ADMIN_TOKEN, ASSETS, ControlPlane},
        process::{Process, eventually, free_ports},
        webhook::Webhook,
    },
    manifests::{daemon_set, stateful_set, surging},
    numbers::Latencies,
    plain::{self, Connection},
    throughput::{bare, setguard},
};

/// The number of requests for each kind of write in a round.
const REQUESTS: usize = 200;
/// The measured writes: kind and method. `PUT` updates the object with the name [`KEPT`].
const WRITES: [(&str, &str); 4] =
    [("DaemonSet", "POST"), ("DaemonSet", "PUT"), ("StatefulSet", "POST"), ("StatefulSet", "PUT")];
const KEPT: &str = "kept";
const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const FOUR: &str =
    "surge-host-port,partition-covers-all,template-node-name,template-scheduling-gates";

/// The registration in one namespace.
struct Side {
    name: &'static str,
    namespace: String,
    /// Webhook configurations, or policies with their bindings.
    objects: Vec<Value>,
    /// Whether the side denies a faulty set.
    denies: bool,
    /// The requests for [`WRITES`] in HTTP form, and their times.
    requests: [Vec<u8>; WRITES.len()],
    latencies: [Latencies; WRITES.len()],
}

/// The first write of each side creates a DaemonSet.
pub(crate) fn measure(arguments: &Arguments) {
    let Some(assets) = env::var_os(ASSETS) else {
        println!("\ndry-run writes: skipped, {ASSETS} is not set");
        return;
    };
    let control_plane = ControlPlane::start(Path::new(&assets));
    let (_webhook, configurations) = Webhook::start(&setguard(), control_plane.folder(), &[]);
    let writes = arguments.rounds * REQUESTS;
    println!("\ndry-run writes: {writes} of each in turn, Kubernetes 1.{}", control_plane.minor());

    let (_bare, mut sides) = sides(&control_plane, &configurations);
    let address = SocketAddr::from(([127, 0, 0, 1], control_plane.port));
    let tls = plain::trust(&control_plane.certificate());
    let mut connection = Connection::open(address, &tls).expect("a connection");
    for side in &sides {
        side.register(&control_plane);
        let bad = dry_run("DaemonSet", "POST", &side.namespace, &surging("bad"));
        eventually("the API server to apply the change", || {
            let (status, _) = connection.send(&bad).expect("an answer");
            if (status != 201) == side.denies { Ok(()) } else { Err(status) }
        });
    }
    for round in 0..writes {
        for write in 0..WRITES.len() {
            for turn in 0..sides.len() {
                let at = whose_turn(round, turn, sides.len());
                let side = &mut sides[at];
                let sent = Instant::now();
                let (status, _) = connection.send(&side.requests[write]).expect("an answer");
                side.latencies[write].0.push(sent.elapsed());
                assert!(matches!(status, 200 | 201), "{status}: a good object must be accepted");
            }
        }
    }
    let mut without = [0.0; WRITES.len()];
    for side in &mut sides {
        println!("{}, {} objects", side.name, side.objects.len());
        for (at, (kind, method)) in WRITES.into_iter().enumerate() {
            let [p50, p99] = [50, 99].map(|percent| side.latencies[at].percentile(percent));
            if side.objects.is_empty() {
                without[at] = p50;
            }
            let added = p50 - without[at];
            println!("  {method:4} {kind:11} p50 {p50:.3} ms, p99 {p99:.3} ms  ({added:+.3} ms)");
        }
    }
}

/// Returns the side that writes at this turn of a round. In twice as many rounds as there are sides, each side follows
/// each other side equally often (a Williams design), because a write leaves cleanup that slows the next write.
fn whose_turn(round: usize, turn: usize, sides: usize) -> usize {
    let reversed = (round / sides) % 2 == 1;
    let turn = if reversed { sides - 1 - turn } else { turn };
    let step = if turn % 2 == 1 { turn.div_ceil(2) } else { sides - turn / 2 };
    (round + step) % sides
}

fn sides(control_plane: &ControlPlane, configurations: &str) -> (Process, Vec<Side>) {
    let documents = |yaml: &str| -> Vec<Value> {
        let args = ["create", "--dry-run=client", "--output=json", "--filename=-"];
        let documents = control_plane.kubectl.run(&args, yaml).accepted().stdout;
        Deserializer::from_str(&documents).into_iter().map(|it| it.expect("JSON")).collect()
    };
    let both = documents(configurations);
    let validating: Vec<Value> = both.iter().filter(|it| it["kind"] == KINDS[1]).cloned().collect();
    assert_eq!((both.len(), validating.len()), (2, 1), "a configuration of each kind");
    let (bare, empty) = empty(control_plane.folder(), validating[0].clone());
    let minor = format!("1.{}", control_plane.minor());
    let policies = |more: &[&str]| {
        let mut command = Command::new(setguard());
        command.args(["export", "vap", "--kube-version", &minor]).args(more);
        let output = command.output().expect("setguard starts");
        assert!(output.status.success(), "{output:?}");
        documents(&String::from_utf8_lossy(&output.stdout))
    };
    let sides = [
        ("none", Vec::new(), false),
        // Registered before the others, because no test can observe when the API server starts to call it.
        ("an empty webhook", vec![empty], false),
        ("validating", validating.clone(), true),
        // The difference between these two is noise.
        ("validating, once more", validating, true),
        ("mutating and validating", both, true),
        ("policies", policies(&[]), true),
        ("policies of four rules", policies(&["--rules", FOUR]), true),
    ];
    let side = |(number, (name, objects, denies))| {
        let namespace = format!("load-{number}");
        let requests = WRITES.map(|(kind, method)| {
            let mut set = set(kind, if method == "PUT" { KEPT } else { "agent" }, &namespace);
            // A change only if it replaces the existing object.
            set["spec"]["template"]["metadata"]["annotations"] = json!({ "example.com/a": "b" });
            dry_run(kind, method, &namespace, &set)
        });
        let only = |object| restricted(object, &namespace);
        let objects = Vec::into_iter(objects).map(only).collect();
        Side { name, namespace, objects, denies, requests, latencies: Default::default() }
    };
    (bare, sides.into_iter().enumerate().map(side).collect())
}

fn restricted(mut object: Value, namespace: &str) -> Value {
    let renamed = |name: &Value| json!(format!("{}-{namespace}", name.as_str().expect("a name")));
    let own = json!({ "kubernetes.io/metadata.name": namespace });
    object["metadata"] = json!({ "name": renamed(&object["metadata"]["name"]) });
    for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
        webhook["namespaceSelector"]["matchLabels"] = own.clone();
    }
    let spec = &mut object["spec"];
    if spec["policyName"].is_string() {
        spec["policyName"] = renamed(&spec["policyName"]);
    } else if spec.is_object() {
        // Not in the binding: the API server matches all policies in all namespaces.
        spec["matchConstraints"]["namespaceSelector"]["matchLabels"] = own;
    }
    object
}

/// The bare server and its registration: setguard's, with a different address.
fn empty(folder: &Path, mut configuration: Value) -> (Process, Value) {
    let [certificate, key] = certificate::write(folder);
    let [port] = free_ports();
    let (program, args) = bare(port, &certificate, &key);
    let pem = std::fs::read(&certificate).expect("a certificate");
    configuration["metadata"]["name"] = json!("empty");
    for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
        let url = format!("https://127.0.0.1:{port}/validate");
        webhook["clientConfig"] = json!({ "url": url, "caBundle": BASE64.encode(&pem) });
    }
    (Process::start(&program, args, folder), configuration)
}

impl Side {
    fn register(&self, control_plane: &ControlPlane) {
        let kubectl = &control_plane.kubectl;
        kubectl.run(&["create", "namespace", &self.namespace], "").accepted();
        let kept = ["DaemonSet", "StatefulSet"].map(|kind| set(kind, KEPT, &self.namespace));
        for object in kept.iter().chain(&self.objects) {
            kubectl.run(&["create", "-f", "-"], &object.to_string()).accepted();
        }
    }
}

/// A set without findings.
fn set(kind: &str, name: &str, namespace: &str) -> Value {
    let mut set = if kind == "DaemonSet" { daemon_set(name) } else { stateful_set(name) };
    set["metadata"]["namespace"] = json!(namespace);
    set
}

/// A dry-run write in HTTP form.
fn dry_run(kind: &str, method: &str, namespace: &str, set: &Value) -> Vec<u8> {
    let name = if method == "PUT" { format!("/{KEPT}") } else { String::new() };
    let sets = format!("/apis/apps/v1/namespaces/{namespace}/{}s", kind.to_lowercase());
    let path = format!("{sets}{name}?dryRun=All");
    let headers = format!("Authorization: Bearer {ADMIN_TOKEN}\r\n");
    plain::request(method, &path, &headers, set.to_string().as_bytes())
}
