//! `setguard audit` reports why a set has no pod or does not roll, and its commands repair that when followed to the
//! letter.

pub(super) mod cluster;
mod recipes;
mod seldom;
mod untouched;
mod wait;

use self::{
    cluster::{Cluster, SHOP, daemon_set_of, stateful_set_of},
    untouched::Untouched,
};
use super::HELM;
use crate::harness::control_plane::{CONTROLLER_MANAGER, SCHEDULER};
use crate::prelude::*;

/// The programs for cases with bound pods.
const RUNNING: &[&str] = &[CONTROLLER_MANAGER, SCHEDULER];

pub(super) const CASES: &[Case] = &[
    Case::needing(RUNNING, "what-is-stuck-is-named-and-repaired", named_and_repaired),
    Case::needing(RUNNING, "what-is-seldom-seen-is-named-and-repaired", seldom::named_and_repaired),
    Case::needing(RUNNING, "a-wait-tells-what-is-stuck-and-passes-the-rest", wait::told_and_passed),
    Case::needing(
        &[CONTROLLER_MANAGER, SCHEDULER, HELM],
        "the-recipes-of-a-wait-work",
        recipes::run_for_real,
    ),
    Case::new("a-wait-survives-a-restart", wait::restarts),
    Case::new("a-wait-needs-the-documented-rights", wait::rights),
];

const CONTROLLERS: &[&str] = &[
    "daemonset-controller",
    "garbage-collector-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "statefulset-controller",
];

const DOWN: &str = "down";

/// The expected findings: rule, object, and a part of the message.
const EXPECTED: &str = include_str!("status/stuck.txt");

fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let cells = |row: &'static str| row.splitn(N, " | ").collect::<Vec<_>>();
    table.lines().map(|row| cells(row).try_into().expect("a row")).collect()
}

fn named_and_repaired(shared: &Namespace<'_>) {
    let plane = ControlPlane::start(&shared.control_plane.assets);
    plane.start_controllers(CONTROLLERS);
    plane.start_scheduler();
    let cluster = Cluster { plane: &plane, down: &[DOWN] };
    set_the_stage(&cluster);
    untouched::create(&cluster);
    eventually("all pods to run", || cluster.run_pods(&[], 16 + untouched::PODS));
    let calm = Untouched::of(&cluster);
    thread::sleep(Duration::from_secs(2));
    let before = cluster.audit();
    let early: Vec<_> = before.keys().filter(|it| it.0 != "node-not-wanted").collect();
    let is_known = |it: &&&(String, String)| it.0 == "creation-refused";
    assert!(early.iter().all(|it| is_known(&it)), "found before anything broke: {before:#?}");

    break_things(&cluster);
    let found = cluster.names(&rows(EXPECTED));

    cluster.follow_all(&found, &calm, |(rule, _), finding| {
        // The test decides where no general advice exists.
        Some(match rule.as_str() {
            // Nothing determines which of two overlapping sets must go.
            "selector-overlap" => {
                "kubectl delete -n shop daemonset/twin --ignore-not-found".to_owned()
            }
            "claim-pending" => {
                "kubectl annotate storageclass disk storageclass.kubernetes.io/is-default-class=true"
                    .to_owned()
            }
            "creation-refused" => "kubectl label namespace secure --overwrite \
                                   pod-security.kubernetes.io/enforce=privileged"
                .to_owned(),
            _ => finding.first_command(),
        })
    });
    cluster.is_repaired(|key| found.contains_key(key));
}

fn set_the_stage(cluster: &Cluster<'_>) {
    for (name, pool, taint) in [
        ("n0", "main", None),
        ("n1", "main", None),
        ("gpu", "main", Some("gpu")),
        ("d0", "edge", None),
        ("d1", "edge", None),
        (DOWN, "edge", None),
    ] {
        cluster.node(name, pool, taint);
    }
    cluster.namespace(SHOP, &json!({}));
    cluster.namespace("secure", &json!({ "pod-security.kubernetes.io/enforce": "baseline" }));
    cluster.disk("disk", false);
    for (name, replicas) in [("image", 2), ("mended", 2), ("gone", 1)] {
        stateful_set(cluster, name, "main", replicas, "good:1");
    }
    stateful_set(cluster, "lost", "edge", 3, "good:1");
    daemon_set(cluster, SHOP, "tainted", "main", &json!({}));
    let gpu = json!({ "tolerations": [{ "key": "dedicated", "operator": "Exists" }] });
    daemon_set(cluster, SHOP, "dead", "edge", &json!({}));
    daemon_set(cluster, SHOP, "first", "main", &gpu);
    let mut host = gpu;
    host["hostNetwork"] = json!(true);
    daemon_set(cluster, "secure", "host", "main", &host);
}

fn break_things(cluster: &Cluster<'_>) {
    let gpu = json!({ "tolerations": [{ "key": "dedicated", "operator": "Exists" }] });
    let mut twin = daemon_set_of("twin", "main", &gpu);
    twin["spec"]["selector"]["matchLabels"] = json!({ "app": "first" });
    twin["spec"]["template"]["metadata"]["labels"] = json!({ "app": "first" });
    cluster.apply(&twin);
    for name in ["image", "mended"] {
        stateful_set(cluster, name, "main", 2, "bad:2");
    }
    claims(cluster);
    cluster.cannot_pull("image-1", "mended-1");
    stateful_set(cluster, "mended", "main", 2, "good:3");
    let orphan = ["delete", "statefulset", "gone", "-n", SHOP, "--cascade=orphan"];
    cluster.kubectl(&orphan, "").accepted();
    cluster.kubectl(&["delete", "pod", "gone-0", "-n", SHOP, "--wait=false"], "").accepted();

    let now = Timestamp::now().to_string();
    let down = json!({ "type": "Ready", "status": "Unknown", "lastTransitionTime": now });
    cluster.patch_status("node/down", "default", &json!({ "conditions": [down] }));
    let not_ready = json!({ "type": "Ready", "status": "False", "lastTransitionTime": now });
    let args = ["get", "pods", "-n", SHOP, "--field-selector", "spec.nodeName=down", "-o", "name"];
    let names = cluster.kubectl(&args, "").accepted().stdout;
    for pod in names.lines() {
        cluster.patch_status(pod, SHOP, &json!({ "conditions": [not_ready] }));
        if pod.contains("lost-") {
            let delete = ["delete", pod, "-n", SHOP, "--wait=false", "--grace-period=1"];
            cluster.kubectl(&delete, "").accepted();
        }
    }
    let mut dead = daemon_set_of("dead", "edge", &json!({}));
    dead["spec"]["template"]["spec"]["containers"][0]["image"] = json!("good:2");
    cluster.apply(&dead);
}

fn daemon_set(cluster: &Cluster<'_>, namespace: &str, name: &str, pool: &str, more: &Value) {
    let mut set = daemon_set_of(name, pool, more);
    set["metadata"]["namespace"] = json!(namespace);
    cluster.apply(&set);
}

fn stateful_set(cluster: &Cluster<'_>, name: &str, pool: &str, replicas: u8, image: &str) {
    let mut set = stateful_set_of(name, pool, replicas, image);
    if name == "lost" {
        // One on each node.
        set["spec"]["template"]["spec"]["topologySpreadConstraints"] = json!([{
            "labelSelector": { "matchLabels": { "app": name } },
            "maxSkew": 1,
            "nodeTaintsPolicy": "Honor",
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
        }]);
    }
    cluster.service(name);
    cluster.apply(&set);
}

/// A StatefulSet whose claims name no class, in a cluster without a default class.
fn claims(cluster: &Cluster<'_>) {
    let mut set = stateful_set_of("claim", "main", 1, "good:1");
    add_claim(&mut set, None, "1Gi");
    cluster.service("claim");
    cluster.apply(&set);
}
