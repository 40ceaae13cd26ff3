//! What the webhooks add to a dry-run create at a real API server.

use std::{env, net::SocketAddr, path::Path, time::Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use crate::{
    Arguments,
    client::{self, Connection},
    external::{self, External},
    harness::{
        control_plane::{ADMIN_TOKEN, ASSETS, ControlPlane},
        process::{Process, eventually, free_ports},
        webhook::Webhook,
    },
    numbers::{Latencies, median},
    throughput::{bare_args, certificate},
};

const REQUESTS: usize = 500;
const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// What is registered, by kind, and how to see that the API server calls it.
struct State {
    name: String,
    /// A document for each of [`KINDS`], or nothing.
    configurations: Vec<String>,
    calls: Calls,
}

/// Which webhooks are called in a state.
#[derive(Clone, Copy, PartialEq)]
enum Calls {
    /// setguard's: whether it mutates, and whether it validates.
    Setguard(bool, bool),
    /// One that has no effect.
    Empty,
    /// Another program's, one of whose rules denies the DaemonSet with the name `bad` too.
    External,
}

/// The median latency of a state in milliseconds, and what it adds to that of no webhook.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) p50: f64,
    pub(crate) added: f64,
}

/// Measures and prints the results.
pub(crate) fn measure(arguments: &Arguments) -> Vec<Figure> {
    let Some(assets) = env::var_os(ASSETS) else {
        println!("\ndry-run create: skipped, {ASSETS} is not set");
        return Vec::new();
    };
    let control_plane = ControlPlane::start(Path::new(&assets));
    let (_webhook, configurations) = Webhook::start(control_plane.folder(), &[]);
    let (_bare, empty) = empty(control_plane.folder());
    let externals: Vec<External> = external::named()
        .iter()
        .map(|(name, program)| External::start(&control_plane, name, program))
        .collect();
    let mut api = Api::connect(&control_plane);
    println!("\ndry-run create of a DaemonSet: {} rounds of {REQUESTS} in turn", arguments.rounds);

    let states = states(&configurations, &empty, &externals);
    let mut medians: Vec<Vec<f64>> = states.iter().map(|_| Vec::new()).collect();
    for _ in 0..arguments.rounds {
        for (state, medians) in states.iter().zip(&mut medians) {
            register(&control_plane, state);
            eventually("the API server to apply the change", || {
                api.has_taken_up(&control_plane, state.calls)
            });
            medians.push(api.round().percentile(50));
        }
    }
    let without = median(medians[0].iter().copied());
    let figure = |(state, medians): (State, Vec<f64>)| {
        let p50 = median(medians);
        println!("{:35} p50 {p50:.3} ms  ({:+.3} ms)", state.name, p50 - without);
        Figure { name: state.name, p50, added: p50 - without }
    };
    states.into_iter().zip(medians).map(figure).collect()
}

fn states(configurations: &str, empty: &Value, externals: &[External]) -> Vec<State> {
    let of_kind = |kind: &str| {
        let mut documents = configurations.split("---\n");
        let document = documents.find(|document| document.contains(&format!("kind: {kind}")));
        document.expect("setguard prints a configuration of each kind").to_owned()
    };
    let [mutating, validating] = KINDS.map(of_kind);
    let state =
        |name: &str, configurations, calls| State { name: name.to_owned(), configurations, calls };
    let mut states = vec![
        state("none", Vec::new(), Calls::Setguard(false, false)),
        state("validating", vec![validating.clone()], Calls::Setguard(false, true)),
        state("mutating and validating", vec![mutating, validating], Calls::Setguard(true, true)),
        state("an empty validating webhook", vec![empty.to_string()], Calls::Empty),
    ];
    for external in externals {
        let configurations = external.configurations.clone();
        states.push(state(external.name, configurations, Calls::External));
    }
    states
}

/// The bare server, and its registration.
fn empty(folder: &Path) -> (Process, Value) {
    let [certificate, key] = certificate(folder);
    let [port] = free_ports();
    let (program, args) = bare_args(port, &certificate, &key);
    let pem = std::fs::read(&certificate).expect("a certificate");
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": KINDS[1],
        "metadata": { "name": "empty" },
        "webhooks": [{
            "name": EMPTY,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/validate"),
                "caBundle": BASE64.encode(pem),
            },
            "failurePolicy": "Fail",
            "rules": [{
                "apiGroups": ["apps"],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["daemonsets"],
            }],
            "sideEffects": "None",
        }],
    });
    (Process::start(&program, args, folder), configuration)
}

const EMPTY: &str = "empty.example.com";

fn register(control_plane: &ControlPlane, state: &State) {
    let kubectl = &control_plane.kubectl;
    for kind in KINDS {
        kubectl.run(&["delete", kind, "--all"], "").accepted();
    }
    for configuration in &state.configurations {
        kubectl.run(&["create", "-f", "-"], configuration).accepted();
    }
}

/// One connection to the API server.
struct Api {
    connection: Connection,
    /// How often the empty webhook had been called when it was asked last.
    empty_calls: f64,
}

impl Api {
    fn connect(control_plane: &ControlPlane) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], control_plane.port));
        let tls = client::trust(&control_plane.certificate());
        let connection = Connection::open(address, &tls).expect("a connection");
        Api { connection, empty_calls: 0.0 }
    }

    fn create(&mut self, request: &[u8]) -> (u16, String) {
        let (status, body) = self.connection.send(request).expect("an answer");
        (status, String::from_utf8_lossy(body).into_owned())
    }

    fn round(&mut self) -> Latencies {
        let request = dry_run("agent", false);
        let once = |_| {
            let sent = Instant::now();
            let (status, _) = self.connection.send(&request).expect("an answer");
            let latency = sent.elapsed();
            assert_eq!(status, 201, "a good object must be accepted");
            latency
        };
        Latencies((0..REQUESTS).map(once).collect())
    }

    /// Whether exactly the wanted webhooks are called, as their effects show.
    fn has_taken_up(&mut self, control_plane: &ControlPlane, wanted: Calls) -> Result<(), String> {
        let before = self.empty_calls;
        let (status, body) = self.create(&dry_run("asks", true));
        let mutated = body.contains("node-role.kubernetes.io/control-plane");
        let (bad, words) = self.create(&dry_run("bad", false));
        let denied = bad != 201;
        self.empty_calls = empty_calls(control_plane);
        let called = self.empty_calls > before;
        let (mutates, validates, empty) = match wanted {
            Calls::Setguard(mutates, validates) => (mutates, validates, false),
            Calls::Empty => (false, false, true),
            Calls::External => (false, true, false),
        };
        if (mutated, denied, called) == (mutates, validates, empty) {
            Ok(())
        } else {
            Err(format!("{status} {body}\n{bad} {words}\n{before} {}", self.empty_calls))
        }
    }
}

/// How often the API server has called the empty webhook.
fn empty_calls(control_plane: &ControlPlane) -> f64 {
    let metrics = control_plane.kubectl.run(&["get", "--raw", "/metrics"], "").accepted().stdout;
    let of_empty = format!("name=\"{EMPTY}\"");
    let lines = metrics.lines().filter(|line| {
        line.starts_with("apiserver_admission_webhook_request_total") && line.contains(&of_empty)
    });
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// A request that creates nothing. With the name `bad` the DaemonSet has a fault that setguard
/// denies; with `asks` it has the label that gets it tolerations.
fn dry_run(name: &str, asks: bool) -> Vec<u8> {
    let labels = json!({ "app": "load" });
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{
                "name": "main",
                "image": "registry.example/main:1",
                "ports": [{ "containerPort": 80, "hostPort": 80 }],
            }] } },
        },
    });
    if name == "bad" {
        set["spec"]["updateStrategy"] =
            json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    }
    if asks {
        set["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
    }
    let path = "/apis/apps/v1/namespaces/default/daemonsets?dryRun=All";
    let headers = format!("Authorization: Bearer {ADMIN_TOKEN}\r\n");
    client::post(path, &headers, set.to_string().as_bytes())
}
