use std::sync::LazyLock;

use json_patch::merge;
use setguard_core::kubernetes::cluster::Cluster;

use super::super::{
    decision::{Decision, Limits, Memory, View, decide},
    diagnosis::Diagnosis,
};
use crate::prelude::*;

/// Objects with their kind. The sets come first.
pub(super) type WatchedCluster = Vec<(Kind, Value)>;

const BEGIN: &str = "2026-11-23T10:00:00Z";
/// How long a test observes a cluster, in seconds.
pub(super) const LONG: i64 = 3_600;
/// The patience with obstacles that often go away by themselves, in seconds.
pub(super) const TRANSIENT: i64 = 300;

pub(super) fn at(seconds: i64) -> String {
    let begin: Timestamp = BEGIN.parse().unwrap();
    begin.checked_add(SignedDuration::from_secs(seconds)).unwrap().to_string()
}

pub(super) fn look(
    world: &WatchedCluster,
    seconds: i64,
    allow_none: bool,
    memory: &mut Memory,
) -> Decision {
    let mut observed = Observed::keeping_all();
    for (kind, object) in world {
        observed.add(*kind, &object.to_string()).unwrap();
    }
    let cluster = Cluster::default();
    let view = View {
        observed: &observed,
        cluster: &cluster,
        now: at(seconds).parse().unwrap(),
        begun: BEGIN.parse().unwrap(),
        limits: Limits::of(SignedDuration::from_mins(5), 5),
        allow_none,
    };
    let set = observed.sets().next();
    let kind = set.map_or(WorkloadKind::StatefulSet, |set| set.kind());
    let target =
        Target { namespace: "shop".to_owned(), kind, name: "db".to_owned(), has_claims: true };
    let diagnosis = Diagnosis::of(&view, &Policy::default(), None);
    decide(&view, &target, set, &diagnosis, memory)
}

pub(super) fn given_up(world: impl Fn(i64) -> WatchedCluster) -> Option<(i64, Decision)> {
    let mut memory = Memory::default();
    let moments = (0..30).chain((30..=LONG).step_by(5));
    moments.map(|now| (now, look(&world(now), now, false, &mut memory))).find(|(now, decision)| {
        let is_stuck = !decision.stuck.is_empty();
        assert!(!is_stuck || !decision.is_done(), "both at {now}: {decision:#?}");
        is_stuck
    })
}

/// Reads YAML where `@` begins a time in seconds.
pub(super) fn read(yaml: &str) -> Value {
    let mut parts = yaml.split("\"@");
    let first = parts.next().unwrap().to_owned();
    let text = parts.fold(first, |text, part| {
        let (seconds, rest) = part.split_once('"').unwrap();
        format!("{text}\"{}\"{rest}", at(seconds.parse().unwrap()))
    });
    let json = kube_yaml::parse(&text).remove(0).unwrap().root.to_json();
    serde_json::from_str(&json).unwrap()
}

fn object(name: &str) -> Value {
    static OBJECTS: LazyLock<Value> = LazyLock::new(|| read(include_str!("objects.yaml")));
    OBJECTS[name].clone()
}

pub(super) fn stateful_set(replicas: i32, ready: i32, updated: i32) -> Value {
    let mut set = object("StatefulSet");
    set["spec"]["replicas"] = json!(replicas);
    let status = json!({
        "replicas": replicas, "readyReplicas": ready, "availableReplicas": ready,
        "updatedReplicas": updated,
    });
    merge(&mut set["status"], &status);
    set
}

pub(super) fn daemon_set(desired: i32, ready: i32, updated: i32) -> Value {
    let mut set = object("DaemonSet");
    let status = json!({
        "currentNumberScheduled": desired, "desiredNumberScheduled": desired,
        "numberReady": ready, "numberAvailable": ready, "numberUnavailable": desired - ready,
        "updatedNumberScheduled": updated,
    });
    merge(&mut set["status"], &status);
    set
}

/// Returns a pod of revision 1 or 2: of the DaemonSet if `node` is set, else of the StatefulSet.
pub(super) fn pod(name: &str, revision: u8, node: Option<&str>) -> Value {
    let mut pod = object("Pod");
    let metadata = &mut pod["metadata"];
    (metadata["name"], metadata["uid"]) = (json!(name), json!(name));
    metadata["labels"]["pod-template-generation"] = json!(revision.to_string());
    let of = if node.is_some() { "hash" } else { "db" };
    metadata["labels"]["controller-revision-hash"] = json!(format!("{of}-{revision}"));
    if let Some(node) = node {
        metadata["ownerReferences"][0]["kind"] = json!("DaemonSet");
        pod["spec"]["nodeName"] = json!(node);
    }
    pod
}

fn ready(pod: &mut Value, is_ready: bool, since: i64) {
    let status = if is_ready { "True" } else { "False" };
    pod["status"]["conditions"] =
        json!([{"type": "Ready", "status": status, "lastTransitionTime": at(since)}]);
}

pub(super) fn waiting(mut pod: Value, reason: &str, message: &str, restarts: i32) -> Value {
    ready(&mut pod, false, -60);
    pod["status"]["phase"] = json!("Pending");
    pod["status"]["containerStatuses"] = json!([{
        "name": "main", "ready": false, "restartCount": restarts,
        "state": {"waiting": {"reason": reason, "message": message}},
    }]);
    if restarts > 0 {
        pod["status"]["containerStatuses"][0]["lastState"] =
            json!({"terminated": {"exitCode": 1, "reason": "Error"}});
    }
    pod
}

pub(super) fn sandboxed(mut pod: Value, has_sandbox: bool) -> Value {
    let status = if has_sandbox { "True" } else { "False" };
    let condition = json!({"type": "PodReadyToStartContainers", "status": status});
    pod["status"]["conditions"].as_array_mut().unwrap().push(condition);
    pod
}

/// The container runs, and has been ready or unready since this second.
pub(super) fn running(mut pod: Value, is_ready: bool, since: i64) -> Value {
    ready(&mut pod, is_ready, since);
    pod["status"]["containerStatuses"] = json!([{
        "name": "main", "ready": is_ready, "restartCount": 0,
        "state": {"running": {"startedAt": at(-60)}},
    }]);
    pod
}

pub(super) fn slow(pod: Value) -> Value {
    running(pod, false, -60)
}

pub(super) fn unschedulable(mut pod: Value, message: &str) -> Value {
    pod["spec"] = json!({});
    pod["status"] = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
    }]});
    pod
}

/// Deletes the pod, with a grace period that ends at this second.
pub(super) fn deleted(mut pod: Value, end: i64) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!(at(end));
    pod
}

/// Returns a node of the pool. It has been down since this second, if any.
pub(super) fn node(name: &str, down: Option<i64>) -> Value {
    let mut node = object("Node");
    node["metadata"]["name"] = json!(name);
    if let Some(since) = down {
        merge(&mut node, &object("DownNode"));
        let ready = &mut node["status"]["conditions"][0];
        (ready["status"], ready["lastTransitionTime"]) = (json!("Unknown"), json!(at(since)));
    }
    node
}

pub(super) fn event(kind: &str, name: &str, reason: &str, message: &str, last: i64) -> Value {
    json!({
        "metadata": {"name": "e", "namespace": "shop", "creationTimestamp": at(last)},
        "involvedObject": {"kind": kind, "name": name, "namespace": "shop"},
        "reason": reason, "message": message,
        "firstTimestamp": at(last), "lastTimestamp": at(last),
    })
}

pub(super) fn of_stateful_set(set: Value, pods: impl IntoIterator<Item = Value>) -> WatchedCluster {
    let mut world = vec![(Kind::StatefulSet, set), (Kind::Node, node("n0", None))];
    world.extend(pods.into_iter().map(|pod| (Kind::Pod, pod)));
    world
}

/// Returns a StatefulSet whose last pod is the first of the new revision, with this change.
pub(super) fn last(change: impl Fn(Value) -> Value) -> WatchedCluster {
    let pods = [pod("db-0", 1, None), pod("db-1", 1, None), change(pod("db-2", 2, None))];
    of_stateful_set(stateful_set(3, 2, 1), pods)
}

pub(super) fn of_daemon_set(
    set: Value,
    nodes: impl IntoIterator<Item = Value>,
    pods: impl IntoIterator<Item = Value>,
) -> WatchedCluster {
    let mut world = vec![(Kind::DaemonSet, set)];
    world.extend(nodes.into_iter().map(|node| (Kind::Node, node)));
    world.extend(pods.into_iter().map(|pod| (Kind::Pod, pod)));
    let revisions = object("Revisions").as_array().cloned().unwrap();
    world.extend(revisions.into_iter().map(|it| (Kind::ControllerRevision, it)));
    world
}
