//! What the webhooks add to a dry-run create at a real API server.

use std::{env, net::SocketAddr, path::Path, time::Instant};

use serde_json::json;

use crate::{
    Arguments,
    client::{self, Connection},
    harness::{
        control_plane::{ADMIN_TOKEN, ASSETS, ControlPlane},
        process::eventually,
        webhook::Webhook,
    },
    numbers::{Latencies, median},
};

const REQUESTS: usize = 500;
const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Which webhooks are registered.
#[derive(Clone, Copy)]
struct Registered {
    name: &'static str,
    mutating: bool,
    validating: bool,
}

const NONE: Registered = Registered { name: "none", mutating: false, validating: false };
const VALIDATING: Registered = Registered { name: "validating", validating: true, ..NONE };
const BOTH: Registered =
    Registered { name: "mutating and validating", mutating: true, ..VALIDATING };

/// Measures and prints the results.
pub(crate) fn measure(arguments: &Arguments) {
    let Some(assets) = env::var_os(ASSETS) else {
        return println!("\ndry-run create: skipped, {ASSETS} is not set");
    };
    let control_plane = ControlPlane::start(Path::new(&assets));
    let (_webhook, configurations) = Webhook::start(control_plane.folder(), &[]);
    let mut api = Api::connect(&control_plane);
    println!("\ndry-run create of a DaemonSet: {} rounds of {REQUESTS} in turn", arguments.rounds);

    let states = [NONE, VALIDATING, BOTH];
    let mut medians: [Vec<f64>; 3] = Default::default();
    for _ in 0..arguments.rounds {
        for (state, medians) in states.iter().zip(&mut medians) {
            register(&control_plane, &configurations, *state);
            eventually("the API server to apply the change", || api.has_taken_up(*state));
            medians.push(api.round().percentile(50));
        }
    }
    let without = median(medians[0].iter().copied());
    for (state, medians) in states.iter().zip(medians) {
        let p50 = median(medians);
        println!("{:25} p50 {p50:.3} ms  ({:+.3} ms)", state.name, p50 - without);
    }
}

fn register(control_plane: &ControlPlane, configurations: &str, state: Registered) {
    for (kind, wanted) in KINDS.into_iter().zip([state.mutating, state.validating]) {
        let kubectl = &control_plane.kubectl;
        if wanted {
            let mut documents = configurations.split("---\n");
            let document = documents.find(|document| document.contains(&format!("kind: {kind}")));
            let document = document.expect("setguard prints a configuration of each kind");
            kubectl.run(&["apply", "-f", "-"], document).accepted();
        } else {
            kubectl.run(&["delete", kind, "--all"], "").accepted();
        }
    }
}

/// One connection to the API server.
struct Api {
    connection: Connection,
}

impl Api {
    fn connect(control_plane: &ControlPlane) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], control_plane.port));
        let tls = client::trust(&control_plane.certificate());
        Api { connection: Connection::open(address, &tls).expect("a connection") }
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
    fn has_taken_up(&mut self, state: Registered) -> Result<(), String> {
        let (status, body) = self.create(&dry_run("asks", true));
        let mutated = body.contains("node-role.kubernetes.io/control-plane");
        let (bad, words) = self.create(&dry_run("bad", false));
        let denied = bad != 201;
        if (mutated, denied) == (state.mutating, state.validating) {
            Ok(())
        } else {
            Err(format!("{status} {body}\n{bad} {words}"))
        }
    }
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
