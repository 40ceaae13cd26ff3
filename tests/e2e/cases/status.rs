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
        cluster.serve(&stateful_set_of(name, "main", replicas, "good:1"));
    }
    // One on each node.
    let spread = json!({
        "labelSelector": { "matchLabels": { "app": "lost" } },
        "maxSkew": 1,
        "nodeTaintsPolicy": "Honor",
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
    });
    let spread = json!({ "topologySpreadConstraints": [spread] });
    cluster.serve(&with_pod(stateful_set_of("lost", "edge", 3, "good:1"), &spread));
    for (name, pool) in [("tainted", "main"), ("dead", "edge")] {
        cluster.apply(&daemon_set_of(name, pool, "good:1"));
    }
    cluster.apply(&on_all_nodes("first"));
    let host = with_pod(on_all_nodes("host"), &json!({ "hostNetwork": true }));
    cluster.apply(&within(host, "secure"));
}

/// A DaemonSet that tolerates every taint of the pool.
fn on_all_nodes(name: &str) -> Value {
    let tolerations = json!([{ "key": "dedicated", "operator": "Exists" }]);
    with_pod(daemon_set_of(name, "main", "good:1"), &json!({ "tolerations": tolerations }))
}

fn break_things(cluster: &Cluster<'_>) {
    cluster.apply(&with_app(on_all_nodes("twin"), "first"));
    for name in ["image", "mended"] {
        cluster.apply(&stateful_set_of(name, "main", 2, "bad:2"));
    }
    // The claims name no class, and there is no default class.
    let mut claim = stateful_set_of("claim", "main", 1, "good:1");
    add_claim(&mut claim, None, "1Gi");
    cluster.serve(&claim);
    cluster.cannot_pull("image-1", "mended-1");
    cluster.apply(&stateful_set_of("mended", "main", 2, "good:3"));
    cluster.does(&format!("delete statefulset gone -n {SHOP} --cascade=orphan"));
    cluster.does(&format!("delete pod gone-0 -n {SHOP} --wait=false"));

    let now = Timestamp::now().to_string();
    let down = json!({ "type": "Ready", "status": "Unknown", "lastTransitionTime": now });
    cluster.patch_status("node/down", "default", &json!({ "conditions": [down] }));
    let not_ready = json!({ "type": "Ready", "status": "False", "lastTransitionTime": now });
    for pod in cluster.pods_on(DOWN) {
        cluster.patch_status(&pod, SHOP, &json!({ "conditions": [not_ready] }));
        if pod.contains("lost-") {
            cluster.delete_soon(&pod);
        }
    }
    cluster.apply(&daemon_set_of("dead", "edge", "good:2"));
}
