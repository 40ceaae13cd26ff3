//! A cluster in which some rollouts cannot succeed.

use jiff::Span;

use super::super::cluster::{Cluster, SHOP, daemon_set_of, on_delete, partition, stateful_set_of};
use crate::prelude::*;

pub(super) const DOWN: &str = "down";
/// A node whose kubelet removes no pods.
pub(super) const HELD: &str = "held";
pub(super) const SECURE: &str = "secure";
pub(super) const POOR: &str = "poor";
pub(super) const LIMITED: &str = "limited";

/// The initial number of pods: of eleven StatefulSets, the held one, the one with a volume, the flapping one, three
/// DaemonSets on two nodes, and one on all four.
pub(super) const PODS: usize = 22 + 1 + 1 + 1 + 6 + 4;

pub(super) fn set_the_stage(cluster: &Cluster<'_>) {
    for (name, pool) in [("n0", "main"), ("n1", "main"), (DOWN, "edge"), (HELD, HELD)] {
        cluster.node(name, pool, None);
    }
    for name in [SHOP, POOR, LIMITED] {
        cluster.namespace(name, &json!({}));
    }
    cluster.namespace(SECURE, &json!({ "pod-security.kubernetes.io/enforce": "baseline" }));
    for name in [
        "image", "mended", "crash", "config", "slow", "misnamed", "wide", "rolling", "parallel",
        "canary", "manual",
    ] {
        cluster.apply(&set(name, "good:1"));
    }
    with_volume(cluster);
    let hold = json!({ "template": { "metadata": { "finalizers": ["example.com/hold"] } } });
    cluster.apply(&with(stateful_set_of("held", HELD, 1, "good:1"), &hold));
    let slow = json!({ "minReadySeconds": 3_600 });
    cluster.apply(&with(stateful_set_of("flaps", "main", 1, "good:1"), &slow));
    for name in ["rolls", "by-hand", "unpulled", "dead"] {
        cluster.apply(&daemons(name, "good:1"));
    }
}

fn set(name: &str, image: &str) -> Value {
    let set = stateful_set_of(name, "main", 2, image);
    match name {
        "parallel" | "wide" => with(set, &json!({ "podManagementPolicy": "Parallel" })),
        "canary" => rolled_by(set, &partition()),
        "manual" => rolled_by(set, &on_delete()),
        _ => set,
    }
}

fn daemons(name: &str, image: &str) -> Value {
    let set = daemon_set_of(name, "main", image);
    match name {
        "by-hand" => rolled_by(set, &on_delete()),
        "dead" => with_pod(set, &json!({ "nodeSelector": null })),
        _ => set,
    }
}

pub(super) fn break_things(cluster: &Cluster<'_>) {
    for name in ["image", "mended"] {
        cluster.apply(&set(name, "bad:2"));
    }
    cluster.cannot_pull("image-1", "mended-1");
    cluster.apply(&set("mended", "good:3"));
    cluster.apply(&set("wide", "bad:2"));
    cluster.apply(&daemons("unpulled", "bad:2"));
    break_more(cluster);
    for (class, name) in [(None, "claim"), (Some("nope"), "classless")] {
        let mut it = set(name, "good:1");
        add_claim(&mut it, class, "1Gi");
        cluster.apply(&it);
    }
    let priority = json!({ "priorityClassName": "nope" });
    cluster.apply(&with_pod(set("priority", "good:1"), &priority));
    policy(cluster);
    cluster.apply(&set("policy", "good:1"));
    cluster.one_pod(POOR);
    cluster.apply(&within(set("quota", "good:1"), POOR));
    let host = with_pod(daemons("host", "good:1"), &json!({ "hostNetwork": true }));
    cluster.apply(&within(host, SECURE));
    cluster.apply(&daemon_set_of("nowhere", "nowhere", "good:1"));
    cluster.apply(&stateful_set_of("place", "nowhere", 2, "good:1"));
    break_containers(cluster);
    cluster.delete_soon("pod/held-0");
    node_goes_down(cluster);
    cluster.apply(&daemons("dead", "good:2"));
}

/// The pod alternates between ready and unready.
pub(super) fn flap(cluster: &Cluster<'_>, turn: u32) {
    let args = ["get", "pod", "flaps-0", "-n", SHOP, "-o", "jsonpath={.status.startTime}"];
    if cluster.kubectl(&args, "").stdout.is_empty() {
        return;
    }
    let is_ready = turn.is_multiple_of(2);
    let status = if is_ready { "True" } else { "False" };
    let ready = json!({
        "type": "Ready", "status": status, "lastTransitionTime": Timestamp::now().to_string(),
    });
    cluster.patch_status("pod/flaps-0", SHOP, &json!({ "conditions": [ready] }));
}

fn break_containers(cluster: &Cluster<'_>) {
    let waits = |reason: &str, restarts: u8| {
        json!({
            "conditions": [{ "type": "Ready", "status": "False" }],
            "containerStatuses": [{
                "name": "main", "image": "good:1", "imageID": "", "ready": false,
                "restartCount": restarts, "state": { "waiting": { "reason": reason } },
                "lastState": if restarts == 0 { json!({}) } else {
                    json!({ "terminated": { "exitCode": 1, "reason": "Error" } })
                },
            }],
        })
    };
    cluster.patch_status("pod/crash-1", SHOP, &waits("CrashLoopBackOff", 7));
    cluster.patch_status("pod/config-1", SHOP, &waits("CreateContainerConfigError", 0));
    let unready = json!({ "conditions": [{ "type": "Ready", "status": "False" }] });
    cluster.patch_status("pod/slow-1", SHOP, &unready);
}

fn with_volume(cluster: &Cluster<'_>) {
    cluster.disk("disk", false);
    let mut set = stateful_set_of("lost", "main", 1, "good:1");
    add_claim(&mut set, Some("disk"), "1Gi");
    cluster.apply(&set);
}

/// Changes that fail to roll out for rarer reasons.
fn break_more(cluster: &Cluster<'_>) {
    // Without its finalizer, a bound volume can be deleted.
    cluster.does(r#"patch pv disk-0 --type=merge -p {"metadata":{"finalizers":null}}"#);
    cluster.does("delete pv disk-0 --wait=false");
    cluster.does(&format!("delete pod lost-0 -n {SHOP} --wait=false"));
    let runtime = json!({ "runtimeClassName": "nope" });
    cluster.apply(&with_pod(set("runtime", "good:1"), &runtime));
    cluster.apply_text(include_str!("../../../../fixtures/wait/limited-and-taken.yaml"));
    let mut limited = within(set("limited", "good:1"), LIMITED);
    limited["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({ "requests": { "cpu": "2" }, "limits": { "cpu": "2" } });
    cluster.apply(&limited);
    cluster.apply(&set("taken", "good:1"));
    let ready = ["get", "sts", "taken", "-n", SHOP, "-o", "jsonpath={.status.readyReplicas}"];
    cluster.until("the pod before the taken name to be ready", &ready, |ready| ready == "1");
    let invalid = json!({
        "conditions": [{ "type": "Ready", "status": "False" }],
        "containerStatuses": [{
            "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "waiting": { "reason": "InvalidImageName" } },
        }],
    });
    cluster.patch_status("pod/misnamed-1", SHOP, &invalid);
}

fn policy(cluster: &Cluster<'_>) {
    cluster.apply_text(include_str!("../../../../fixtures/wait/not-here.yaml"));
    let run = ["run", "policy-x", "-n", SHOP, "--image=a", "--dry-run=server"];
    becomes("the policy to refuse pods", || cluster.kubectl(&run, ""), |ran| !ran.success);
}

/// A node that has been down for ten minutes, with the taints of the node lifecycle controller.
fn node_goes_down(cluster: &Cluster<'_>) {
    let then = Timestamp::now().checked_sub(Span::new().minutes(10)).expect("a time").to_string();
    let down = json!({ "type": "Ready", "status": "Unknown", "lastTransitionTime": then });
    cluster.patch_status("node/down", "default", &json!({ "conditions": [down] }));
    let taints = ["NoSchedule", "NoExecute"].map(|effect| {
        json!({ "key": "node.kubernetes.io/unreachable", "effect": effect, "timeAdded": then })
    });
    let taints = json!({ "spec": { "taints": taints } });
    cluster.does(&format!("patch node {DOWN} --type=merge -p {taints}"));
    let unready = json!({ "type": "Ready", "status": "False", "lastTransitionTime": then });
    let pods = cluster.pods_on(DOWN);
    let [pod] = &*pods else { panic!("one pod: {pods:?}") };
    cluster.patch_status(pod, SHOP, &json!({ "conditions": [unready] }));
    cluster.delete_soon(pod);
}

pub(super) fn roll(cluster: &Cluster<'_>) {
    for name in ["rolling", "parallel", "canary", "manual"] {
        cluster.apply(&set(name, "good:2"));
    }
    cluster.apply(&with(set("empty", "good:1"), &json!({ "replicas": 0 })));
    for name in ["rolls", "by-hand"] {
        cluster.apply(&daemons(name, "good:2"));
    }
}
