//! The cost of a review with a large view of the cluster, compared with an empty one, and the
//! memory of the view: `cargo bench --bench view`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints for people to read"
)]

use std::{fs, hint::black_box, time::Instant};

use jiff::civil::date;
use serde_json::{Value, json};
use setguard::{
    admission::{self, Endpoint},
    engine::Context,
    inventory::{
        Inventory,
        kind::KINDS,
        object_summary::ObjectSummary,
        view::{Freshness, View},
    },
    policy::Policy,
};
use setguard_testing::reviews;

const SETS: usize = 5_000;
const DEPLOYMENTS: usize = 20_000;
const SERVICES: usize = 10_000;
const NODES: usize = 5_000;
const NAMESPACES: usize = 300;
/// The number of times that each review is answered.
const ROUNDS: usize = 20_000;

fn main() {
    let large = large();
    println!("{} bytes by the view's own estimate", large.inventory.bytes());
    let mut empty = View::default();
    KINDS.into_iter().for_each(|kind| empty.set_freshness(kind, Freshness::Fresh));
    let daemon_set = reviews::daemon_set_update(reviews::SMALL);
    let mut stateful_set: Value = serde_json::from_slice(&daemon_set).expect("a review");
    stateful_set["request"]["kind"]["kind"] = json!("StatefulSet");
    for object in ["object", "oldObject"] {
        let object = &mut stateful_set["request"][object];
        object["kind"] = json!("StatefulSet");
        object["spec"]["replicas"] = json!(3);
        object["spec"]["serviceName"] = json!("service-7");
        object["spec"].as_object_mut().expect("a map").remove("updateStrategy");
    }
    let stateful_set = serde_json::to_vec(&stateful_set).expect("JSON");
    for (name, review) in [("DaemonSet", daemon_set), ("StatefulSet", stateful_set)] {
        let [none, empty, large] = medians(&review, [None, Some(&empty), Some(&large)]);
        println!(
            "{name}: p50 {none} ns without a view, {empty} ns with an empty one, {large} ns with a \
             large one: {:.2} times that of the empty one",
            large as f64 / empty as f64
        );
    }
    let start = Instant::now();
    let snapshot = black_box(large.inventory.clone());
    println!("a snapshot takes {} ns", start.elapsed().as_nanos());
    let mut changed = large.inventory;
    let start = Instant::now();
    let item = ObjectSummary::of_json(&deployment(7, "changed").to_string()).expect("a Deployment");
    changed.put(item);
    println!("a change after a snapshot takes {} ns", start.elapsed().as_nanos());
    drop(snapshot);
}

/// The median times of a review with each of the views, which take turns.
fn medians<const N: usize>(review: &[u8], views: [Option<&View>; N]) -> [u128; N] {
    let (policy, today) = (Policy::default(), date(2026, 11, 22));
    let mut times = [(); N].map(|()| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for (view, times) in views.iter().zip(&mut times) {
            let start = Instant::now();
            let cx = Context { view: *view, ..Context::of_review(&policy, today) };
            let answer = admission::answer(Endpoint::Validate, review, &cx);
            black_box(answer.expect("an answer"));
            times.push(start.elapsed().as_nanos());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

/// The memory of this process, in bytes.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
    pages * 4096
}

fn large() -> View {
    let mut view = View::default();
    let (before, start) = (resident(), Instant::now());
    for i in 0..SETS {
        let kind = if i % 2 == 0 { "DaemonSet" } else { "StatefulSet" };
        add(&mut view.inventory, &set(kind, i));
    }
    for i in 0..DEPLOYMENTS {
        add(&mut view.inventory, &deployment(i, "deployment"));
    }
    for i in 0..SERVICES {
        let spec = json!({"clusterIP": "10.0.0.1", "selector": {"app.kubernetes.io/name": format!("deployment-{i}")}});
        add(&mut view.inventory, &object("v1", "Service", &format!("service-{i}"), i, &spec));
    }
    for i in 0..NAMESPACES {
        let labels = json!({"kubernetes.io/metadata.name": namespace(i),
            "pod-security.kubernetes.io/enforce": "privileged"});
        add(
            &mut view.inventory,
            &json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": namespace(i), "labels": labels}}),
        );
    }
    for i in 0..SETS {
        let selector =
            json!({"matchLabels": {"app.kubernetes.io/name": format!("StatefulSet-{i}")}});
        let spec = json!({"maxUnavailable": 1, "selector": selector});
        let name = format!("budget-{i}");
        add(&mut view.inventory, &object("policy/v1", "PodDisruptionBudget", &name, i, &spec));
    }
    for i in 0..NODES {
        add(&mut view.inventory, &node(i));
    }
    for kind in KINDS {
        view.set_freshness(kind, Freshness::Fresh);
    }
    println!(
        "{SETS} DaemonSets and StatefulSets, {DEPLOYMENTS} Deployments, {SERVICES} Services, {SETS} \
         PodDisruptionBudgets and {NODES} Nodes: {} bytes of memory, {} ms",
        resident() - before,
        start.elapsed().as_millis()
    );
    view
}

fn add(inventory: &mut Inventory, object: &Value) {
    inventory.put(ObjectSummary::of_json(&object.to_string()).expect("an item"));
}

fn namespace(i: usize) -> String {
    format!("team-{}", i % NAMESPACES)
}

fn object(api_version: &str, kind: &str, name: &str, i: usize, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace(i)}, "spec": spec})
}

/// The labels that charts set.
fn labels(name: &str) -> Value {
    json!({"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/version": "1.4.2",
        "helm.sh/chart": format!("{name}-1.4.2")})
}

fn selecting(name: &str, pod: &Value) -> Value {
    let wanted = json!({"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name});
    json!({"selector": {"matchLabels": wanted},
        "template": {"metadata": {"labels": labels(name)}, "spec": pod}})
}

fn deployment(i: usize, name: &str) -> Value {
    let name = format!("{name}-{i}");
    object("apps/v1", "Deployment", &name, i, &selecting(&name, &json!({"containers": []})))
}

fn set(kind: &str, i: usize) -> Value {
    let name = format!("{kind}-{i}");
    // Some claim a port, each on a pool of nodes of its own.
    let ports = json!([{"containerPort": 9100, "hostPort": 9100}]);
    let ports = if i.is_multiple_of(10) { ports } else { json!([]) };
    let pod = json!({"nodeSelector": {"pool": format!("pool-{i}")},
        "containers": [{"name": "main", "image": "registry.example.com/main:1", "ports": ports}]});
    object("apps/v1", kind, &name, i, &selecting(&name, &pod))
}

fn node(i: usize) -> Value {
    let name =
        format!("ip-10-{}-{}-{}.eu-central-1.compute.internal", i / 65_536, i / 256, i % 256);
    let labels = json!({
        "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m5.2xlarge",
        "beta.kubernetes.io/os": "linux", "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": format!("group-{}", i % 40),
        "failure-domain.beta.kubernetes.io/region": "eu-central-1",
        "failure-domain.beta.kubernetes.io/zone": format!("eu-central-1{}", i % 3),
        "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m5.2xlarge", "pool": format!("pool-{}", i % 40),
        "topology.ebs.csi.aws.com/zone": format!("eu-central-1{}", i % 3),
        "topology.kubernetes.io/region": "eu-central-1",
        "topology.kubernetes.io/zone": format!("eu-central-1{}", i % 3)});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}
