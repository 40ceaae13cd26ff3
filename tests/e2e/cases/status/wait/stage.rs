//! A cluster in which some rollouts cannot succeed.

use jiff::{Span, Timestamp};
use serde_json::{Value, json};

use super::super::cluster::{Cluster, SHOP, daemon_set_of, stateful_set_of};
use crate::{harness::process::becomes, manifests::add_claim};

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
    let mut held = stateful_set_of("held", HELD, 1, "good:1");
    held["spec"]["template"]["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.apply(&held);
    let mut flaps = stateful_set_of("flaps", "main", 1, "good:1");
    flaps["spec"]["minReadySeconds"] = json!(3_600);
    cluster.apply(&flaps);
    for name in ["rolls", "by-hand", "unpulled"] {
        cluster.apply(&daemons(name, "main", "good:1"));
    }
    let mut dead = daemons("dead", "main", "good:1");
    dead["spec"]["template"]["spec"]["nodeSelector"] = json!(null);
    cluster.apply(&dead);
}

fn set(name: &str, image: &str) -> Value {
    let mut set = stateful_set_of(name, "main", 2, image);
    match name {
        "parallel" | "wide" => set["spec"]["podManagementPolicy"] = json!("Parallel"),
        "canary" => {
            set["spec"]["updateStrategy"] =
                json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 1 } });
        }
        "manual" => set["spec"]["updateStrategy"] = json!({ "type": "OnDelete" }),
        _ => {}
    }
    set
}

fn daemons(name: &str, pool: &str, image: &str) -> Value {
    let mut set = daemon_set_of(name, pool, &json!({}));
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    if name == "by-hand" {
        set["spec"]["updateStrategy"] = json!({ "type": "OnDelete" });
    }
    set
}

pub(super) fn break_things(cluster: &Cluster<'_>) {
    for name in ["image", "mended"] {
        cluster.apply(&set(name, "bad:2"));
    }
    cluster.cannot_pull("image-1", "mended-1");
    cluster.apply(&set("mended", "good:3"));
    cluster.apply(&set("wide", "bad:2"));
    cluster.apply(&daemons("unpulled", "main", "bad:2"));
    break_more(cluster);
    for (class, name) in [(None, "claim"), (Some("nope"), "classless")] {
        let mut it = set(name, "good:1");
        add_claim(&mut it, class, "1Gi");
        cluster.apply(&it);
    }
    let mut priority = set("priority", "good:1");
    priority["spec"]["template"]["spec"]["priorityClassName"] = json!("nope");
    cluster.apply(&priority);
    policy(cluster);
    cluster.apply(&set("policy", "good:1"));
    cluster.one_pod(POOR);
    let mut quota = set("quota", "good:1");
    quota["metadata"]["namespace"] = json!(POOR);
    cluster.apply(&quota);
    let mut host = daemon_set_of("host", "main", &json!({ "hostNetwork": true }));
    host["metadata"]["namespace"] = json!(SECURE);
    cluster.apply(&host);
    cluster.apply(&daemons("nowhere", "nowhere", "good:1"));
    let mut place = set("place", "good:1");
    place["spec"]["template"]["spec"]["nodeSelector"] = json!({ "pool": "nowhere" });
    cluster.apply(&place);
    break_containers(cluster);
    let delete = ["delete", "pod", "held-0", "-n", SHOP, "--wait=false", "--grace-period=1"];
    cluster.kubectl(&delete, "").accepted();
    node_goes_down(cluster);
    let mut dead = daemons("dead", "main", "good:2");
    dead["spec"]["template"]["spec"]["nodeSelector"] = json!(null);
    cluster.apply(&dead);
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
    let unpin =
        ["patch", "pv", "disk-0", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#];
    cluster.kubectl(&unpin, "").accepted();
    cluster.kubectl(&["delete", "pv", "disk-0", "--wait=false"], "").accepted();
    cluster.kubectl(&["delete", "pod", "lost-0", "-n", SHOP, "--wait=false"], "").accepted();
    let mut runtime = set("runtime", "good:1");
    runtime["spec"]["template"]["spec"]["runtimeClassName"] = json!("nope");
    cluster.apply(&runtime);
    cluster.apply_text(include_str!("../../../../fixtures/wait/limited-and-taken.yaml"));
    let mut limited = set("limited", "good:1");
    limited["metadata"]["namespace"] = json!(LIMITED);
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
    let taints = json!({ "spec": { "taints": taints } }).to_string();
    cluster.kubectl(&["patch", "node", DOWN, "--type=merge", "-p", &taints], "").accepted();
    let unready = json!({ "conditions": [{
        "type": "Ready", "status": "False", "lastTransitionTime": then,
    }] });
    let args = ["get", "pods", "-n", SHOP, "--field-selector", "spec.nodeName=down", "-o", "name"];
    let names = cluster.kubectl(&args, "").accepted().stdout;
    assert_eq!(names.lines().count(), 1, "{names}");
    for pod in names.lines() {
        cluster.patch_status(pod, SHOP, &unready);
        let delete = ["delete", pod, "-n", SHOP, "--wait=false", "--grace-period=1"];
        cluster.kubectl(&delete, "").accepted();
    }
}

pub(super) fn roll(cluster: &Cluster<'_>) {
    for name in ["rolling", "parallel", "canary", "manual"] {
        cluster.apply(&set(name, "good:2"));
    }
    let mut empty = set("empty", "good:1");
    empty["spec"]["replicas"] = json!(0);
    cluster.apply(&empty);
    for name in ["rolls", "by-hand"] {
        cluster.apply(&daemons(name, "main", "good:2"));
    }
}
