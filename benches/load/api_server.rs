//! The time that the webhooks add to a dry-run write at a real API server.
//!
//! Each state has its own namespace, and the states take turns from write to write: the speed of
//! the machine changes more in a second than the differences that are measured.

use std::{env, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Deserializer, Value, json};

use crate::{
    Arguments, certificate,
    external::{self, External},
    harness::{
        control_plane::{ASSETS, ControlPlane},
        process::{Process, eventually, free_ports},
        webhook::Webhook,
    },
    numbers::Latencies,
    plain::Connection,
    throughput::{bare_args, setguard},
    writes::{self, REQUESTS, WRITES, Write, dry_run, object, whose_turn},
};

const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The registration for a namespace, and the evidence that the API server calls it.
struct State {
    name: &'static str,
    namespace: String,
    /// The configurations, in the order of [`KINDS`].
    configurations: Vec<Value>,
    calls: Calls,
    /// The requests for [`WRITES`], as they go over the wire, and their times.
    requests: [Vec<u8>; WRITES.len()],
    latencies: [Latencies; WRITES.len()],
}

/// The webhooks that are called in a state.
#[derive(Clone, Copy, PartialEq)]
enum Calls {
    /// setguard's webhooks: whether the mutating one, and whether the validating one.
    Setguard(bool, bool),
    /// A webhook that has no effect.
    Empty,
    /// A webhook of another program, one of whose rules also denies the DaemonSet with the name
    /// `bad`.
    External,
}

/// The median latencies of the writes in a state, in milliseconds, and the difference from the
/// state without a webhook.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    /// Whether it is another program's webhook.
    pub(crate) external: bool,
    pub(crate) writes: Vec<Latency>,
}

#[derive(Debug)]
pub(crate) struct Latency {
    pub(crate) write: &'static str,
    pub(crate) p50: f64,
    pub(crate) added: f64,
}

/// Measures and prints the results. The first write of each state is the creation of a DaemonSet.
pub(crate) fn measure(arguments: &Arguments) -> Vec<Figure> {
    let Some(assets) = env::var_os(ASSETS) else {
        println!("\ndry-run writes: skipped, {ASSETS} is not set");
        return Vec::new();
    };
    let control_plane = ControlPlane::start(Path::new(&assets));
    let (_webhook, configurations) = Webhook::start(&setguard(), control_plane.folder(), &[]);
    let (_bare, empty) = empty(control_plane.folder());
    let externals: Vec<External> = external::named()
        .iter()
        .map(|(name, program)| External::start(&control_plane, name, program))
        .collect();
    println!("\ndry-run writes: {} of each in turn", arguments.rounds * REQUESTS);

    let mut states = states(&control_plane, &configurations, &empty, &externals);
    let mut api = Api::connect(&control_plane);
    for state in &states {
        register(&control_plane, state);
        eventually("the API server to apply the change", || {
            api.has_taken_up(&control_plane, state)
        });
    }
    for round in 0..arguments.rounds * REQUESTS {
        for write in 0..WRITES.len() {
            for turn in 0..states.len() {
                let at = whose_turn(round, turn, states.len());
                let state = &mut states[at];
                let latency = writes::time(&mut api.connection, &state.requests[write]);
                state.latencies[write].0.push(latency);
            }
        }
    }
    let without = medians(&mut states[0]);
    let figure = |mut state: State| {
        println!("{}", state.name);
        let of = |((write, p50), without): ((&Write, f64), f64)| {
            let latency = Latency { write: write.name, p50, added: p50 - without };
            println!("  {:33} p50 {p50:.3} ms  ({:+.3} ms)", latency.write, latency.added);
            latency
        };
        let writes = WRITES.iter().zip(medians(&mut state)).zip(without).map(of).collect();
        Figure { name: state.name, external: state.calls == Calls::External, writes }
    };
    states.into_iter().map(figure).collect()
}

fn medians(state: &mut State) -> [f64; WRITES.len()] {
    state.latencies.each_mut().map(|latencies| latencies.percentile(50))
}

fn states(
    control_plane: &ControlPlane,
    configurations: &str,
    empty: &Value,
    externals: &[External],
) -> Vec<State> {
    let documents = documents(control_plane, configurations);
    let of_kind = |kind: &str| {
        let found = documents.iter().find(|it| it["kind"] == kind);
        found.expect("setguard prints a configuration of each kind").clone()
    };
    let [mutating, validating] = KINDS.map(of_kind);
    let both = vec![mutating, validating.clone()];
    let mut states = vec![
        ("none", Vec::new(), Calls::Setguard(false, false)),
        ("validating", vec![validating.clone()], Calls::Setguard(false, true)),
        // The difference between these two is chance.
        ("validating, once more", vec![validating], Calls::Setguard(false, true)),
        ("mutating and validating", both, Calls::Setguard(true, true)),
        ("an empty validating webhook", vec![empty.clone()], Calls::Empty),
    ];
    for external in externals {
        states.push((external.name, external.configurations.clone(), Calls::External));
    }
    let state = |(number, (name, configurations, calls))| {
        let namespace = format!("load-{number}");
        let requests = WRITES.each_ref().map(|write| writes::ordinary(write, &namespace));
        let only = |configuration| restricted(configuration, &namespace);
        let configurations = Vec::into_iter(configurations).map(only).collect();
        let latencies = Default::default();
        State { name, namespace, configurations, calls, requests, latencies }
    };
    states.into_iter().enumerate().map(state).collect()
}

/// Returns the objects in a text in YAML.
pub(crate) fn documents(control_plane: &ControlPlane, yaml: &str) -> Vec<Value> {
    let args = ["create", "--dry-run=client", "--output=json", "--filename=-"];
    let documents = control_plane.kubectl.run(&args, yaml).accepted().stdout;
    let documents = Deserializer::from_str(&documents).into_iter();
    documents.map(|document| document.expect("JSON")).collect()
}

/// A configuration as another one that applies to a namespace alone.
pub(crate) fn restricted(mut configuration: Value, namespace: &str) -> Value {
    let name = configuration["metadata"]["name"].as_str().expect("a name");
    configuration["metadata"] = json!({ "name": format!("{name}-{namespace}") });
    for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
        let labels = &mut webhook["namespaceSelector"]["matchLabels"];
        labels["kubernetes.io/metadata.name"] = json!(namespace);
    }
    configuration
}

/// The bare server, and its registration.
fn empty(folder: &Path) -> (Process, Value) {
    let [certificate, key] = certificate::write(folder);
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
                "resources": ["daemonsets", "statefulsets"],
            }],
            "sideEffects": "None",
        }],
    });
    (Process::start(&program, args, folder), configuration)
}

const EMPTY: &str = "empty.example.com";

fn register(control_plane: &ControlPlane, state: &State) {
    writes::prepare(control_plane, &state.namespace);
    for configuration in &state.configurations {
        let kubectl = &control_plane.kubectl;
        kubectl.run(&["create", "-f", "-"], &configuration.to_string()).accepted();
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
        Api { connection: writes::connect(control_plane), empty_calls: 0.0 }
    }

    fn send(&mut self, request: &[u8]) -> (u16, String) {
        let (status, body) = self.connection.send(request).expect("an answer");
        (status, String::from_utf8_lossy(body).into_owned())
    }

    /// Checks that exactly the expected webhooks are called, as their effects show.
    fn has_taken_up(&mut self, control_plane: &ControlPlane, state: &State) -> Result<(), String> {
        let before = self.empty_calls;
        let (status, body) = self.send(&create("asks", &state.namespace));
        let mutated = body.contains("node-role.kubernetes.io/control-plane");
        let (bad, words) = self.send(&create("bad", &state.namespace));
        let denied = bad != 201;
        self.empty_calls = empty_calls(control_plane);
        let called = self.empty_calls > before;
        let (mutates, validates, empty) = match state.calls {
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

/// The creation of a DaemonSet. With the name `bad` it has a fault that setguard denies; with `asks`
/// it has the label that gets it tolerations.
fn create(name: &str, namespace: &str) -> Vec<u8> {
    let mut set = object("DaemonSet", name, namespace);
    if name == "bad" {
        set["spec"]["updateStrategy"] =
            json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    }
    if name == "asks" {
        set["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
    }
    dry_run("POST", &set)
}
