//! Dry-run writes at a real API server, in namespaces that take turns.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    harness::control_plane::{ADMIN_TOKEN, ControlPlane},
    plain::{self, Connection},
};

/// The number of requests for each kind of write in a round.
pub(crate) const REQUESTS: usize = 200;

/// A kind of write that is measured.
pub(crate) struct Write {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// `POST` creates, `PUT` updates the object with the name [`KEPT`].
    pub(crate) method: &'static str,
}

pub(crate) const WRITES: [Write; 4] = [
    Write { name: "a DaemonSet is created", kind: "DaemonSet", method: "POST" },
    Write { name: "a DaemonSet is updated", kind: "DaemonSet", method: "PUT" },
    Write { name: "a StatefulSet is created", kind: "StatefulSet", method: "POST" },
    Write { name: "a StatefulSet is updated", kind: "StatefulSet", method: "PUT" },
];

const KEPT: &str = "kept";

/// Creates a namespace with the objects that are updated.
pub(crate) fn prepare(control_plane: &ControlPlane, namespace: &str) {
    let kubectl = &control_plane.kubectl;
    kubectl.run(&["create", "namespace", namespace], "").accepted();
    for kind in ["DaemonSet", "StatefulSet"] {
        let kept = object(kind, KEPT, namespace).to_string();
        kubectl.run(&["create", "-f", "-"], &kept).accepted();
    }
}

/// Opens a connection to the API server.
pub(crate) fn connect(control_plane: &ControlPlane) -> Connection {
    let address = SocketAddr::from(([127, 0, 0, 1], control_plane.port));
    let tls = plain::trust(&control_plane.certificate());
    Connection::open(address, &tls).expect("a connection")
}

/// How long a write takes, which must be accepted.
pub(crate) fn time(connection: &mut Connection, request: &[u8]) -> Duration {
    let sent = Instant::now();
    let (status, _) = connection.send(request).expect("an answer");
    let latency = sent.elapsed();
    assert!(matches!(status, 200 | 201), "{status}: a good object must be accepted");
    latency
}

/// Returns the state that writes at this turn of a round. In twice as many rounds as there are
/// states, each state follows each other state equally often (a Williams design): the next write
/// pays for the cleanup that a write leaves to the API server.
pub(crate) fn whose_turn(round: usize, turn: usize, states: usize) -> usize {
    let reversed = (round / states) % 2 == 1;
    let turn = if reversed { states - 1 - turn } else { turn };
    let step = if turn % 2 == 1 { turn.div_ceil(2) } else { states - turn / 2 };
    (round + step) % states
}

/// Returns a write that changes nothing and about which setguard reports nothing.
pub(crate) fn ordinary(write: &Write, namespace: &str) -> Vec<u8> {
    let updates = write.method == "PUT";
    let mut set = object(write.kind, if updates { KEPT } else { "agent" }, namespace);
    if updates {
        set["spec"]["template"]["metadata"]["annotations"] =
            json!({ "example.com/changed": "yes" });
    }
    dry_run(write.method, &set)
}

pub(crate) fn object(kind: &str, name: &str, namespace: &str) -> Value {
    let labels = json!({ "app": "load" });
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{
                "name": "main",
                "image": "registry.example/main:1",
                "ports": [{ "containerPort": 80, "hostPort": 80 }],
            }] } },
        },
    })
}

pub(crate) fn dry_run(method: &str, set: &Value) -> Vec<u8> {
    let text = |field: &Value| field.as_str().expect("a text").to_lowercase();
    let (resource, namespace) = (text(&set["kind"]), text(&set["metadata"]["namespace"]));
    let mut path = format!("/apis/apps/v1/namespaces/{namespace}/{resource}s");
    if method == "PUT" {
        path = format!("{path}/{}", text(&set["metadata"]["name"]));
    }
    let headers = format!("Authorization: Bearer {ADMIN_TOKEN}\r\n");
    plain::request(method, &format!("{path}?dryRun=All"), &headers, set.to_string().as_bytes())
}
