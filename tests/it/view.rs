//! The webhook's findings from comparing an object with its cluster.

use setguard::{
    inventory::{
        kind::kinds,
        object_summary::ObjectSummary,
        view::{Freshness, View},
    },
    rules::{
        cross_object,
        rule::{Rule, inventory::Evidence},
    },
};

use crate::prelude::*;
use crate::review::warnings;

pub fn view<'a>(objects: impl IntoIterator<Item = &'a Value>) -> View {
    let json: Vec<String> = objects.into_iter().map(Value::to_string).collect();
    view_of_json(&json)
}

pub fn view_of_json(objects: &[String]) -> View {
    let mut view = View::default();
    for object in objects {
        let item = ObjectSummary::of_json(object);
        view.inventory.put(item.unwrap_or_else(|| panic!("{object:.300}")));
    }
    for kind in kinds() {
        view.set_freshness(kind, Freshness::Fresh);
    }
    view
}

fn objects(yaml: &str) -> Vec<Value> {
    values(&support::to_json(yaml))
}

fn changes(yaml: &str) -> (Vec<Value>, Vec<Value>) {
    let (objects, before) = support::changes(support::to_json(yaml));
    (values(&objects), values(&before))
}

fn values(json: &[String]) -> Vec<Value> {
    json.iter().map(|json| serde_json::from_str(json).unwrap()).collect()
}

fn review(object: &Value, old: Option<&Value>, view: &View, policy: &Policy) -> Value {
    let mut object = object.clone();
    // The API server sets it before it calls a webhook.
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
    object["metadata"]["namespace"] = json!(namespace);
    let cx = Context { view: Some(view), ..Context::of_review(policy, date(2026, 1, 1)) };
    response(json!({"namespace": namespace, "object": object, "oldObject": old}), &cx)
}

/// A policy that warns where the default only counts.
fn loud() -> Policy {
    let mut policy = Policy::default();
    for rule in cross_object().filter(|rule| rule.meta.mode == Mode::Audit) {
        policy.set_mode(&rule.meta, Mode::Warn);
    }
    policy
}

fn denying() -> Policy {
    let mut policy = Policy::default();
    cross_object().for_each(|rule| policy.set_mode(&rule.meta, Mode::Deny));
    policy
}

fn created(object: &Value, view: &View) -> Vec<String> {
    warned(object, None, view)
}

fn changed(object: &Value, view: &View) -> Vec<String> {
    warned(object, Some(object), view)
}

fn warned(object: &Value, old: Option<&Value>, view: &View) -> Vec<String> {
    let response = review(object, old, view, &loud());
    assert_eq!(response["allowed"], true, "{response}");
    warnings(&response).into_iter().map(str::to_owned).collect()
}

fn is_set(object: &Value) -> bool {
    matches!(object["kind"].as_str(), Some("DaemonSet" | "StatefulSet"))
}

const AGENT: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
      containers:
        - name: agent
          image: registry.example.com/agent:1
          ports: [{containerPort: 9100, hostPort: 9100}]
          readinessProbe: {tcpSocket: {port: 9100}}
";

fn other() -> Value {
    let mut other = objects(AGENT).remove(0);
    other["metadata"]["name"] = json!("other");
    other["spec"]["selector"]["matchLabels"]["app"] = json!("other");
    other["spec"]["template"]["metadata"]["labels"]["app"] = json!("other");
    other
}

#[test]
fn the_examples_are_found_whichever_object_is_there_first() {
    // Of two such objects in a cluster, only the audit reports the second.
    let is_seen = |rule: &Rule| {
        rule.evidence() != Some(Evidence::Manifest) && rule.meta.id != "replicas-without-budget"
    };
    for rule in cross_object().filter(|rule| is_seen(rule)) {
        let (all, before) = changes(rule.meta.bad);
        let mut seen = 0;
        for (i, object) in all.iter().enumerate().filter(|(_, object)| is_set(object)) {
            let others = all.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
            let cluster = view(others);
            let found = if rule.evidence() == Some(Evidence::AbsentNeighbor) {
                // Silent, because the missing objects may follow in the same apply.
                assert_eq!(created(object, &cluster), Vec::<String>::new(), "{}", rule.meta.id);
                changed(object, &cluster)
            } else if let Some(before) = before.first() {
                warned(object, Some(before), &cluster)
            } else {
                created(object, &cluster)
            };
            let found: Vec<_> = found.iter().filter_map(|text| text.split(':').next()).collect();
            let kind = object["kind"].as_str().unwrap();
            if rule.kinds().iter().any(|it| it.as_str() == kind) && !found.is_empty() {
                assert_eq!(found, [rule.meta.id], "{object}");
                seen += 1;
            }
        }
        assert!(seen > 0, "{}", rule.meta.id);
        for object in changes(rule.meta.good).0.iter().filter(|object| is_set(object)) {
            let found = changed(object, &view(&objects(rule.meta.good)));
            assert_eq!(found, Vec::<String>::new(), "{}", rule.meta.id);
        }
    }
}

#[test]
fn a_claim_without_a_class_needs_a_default_one() {
    let missing = cross_object().find(|rule| rule.meta.id == "storage-class-missing").unwrap();
    let mut all = objects(missing.meta.good);
    let place = all.iter().position(is_set).unwrap();
    let mut set = all.remove(place);
    let claim = |set: &mut Value, key: &str, value: Value| {
        set["spec"]["volumeClaimTemplates"][0]["spec"][key] = value;
    };
    set["spec"]["volumeClaimTemplates"][0]["spec"]
        .as_object_mut()
        .unwrap()
        .remove("storageClassName");
    let found = changed(&set, &view(&all));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(
            "storage-class-missing: spec.volumeClaimTemplates[0].spec.storageClassName: \
             no StorageClass of the cluster is the default one"
        ),
        "{found:?}"
    );
    let silent = |set: &Value, all: &[Value]| {
        assert_eq!(changed(set, &view(all)), Vec::<String>::new(), "{set}");
    };
    for (key, value) in [
        ("selector", json!({"matchLabels": {"disk": "a"}})),
        ("volumeName", json!("disk-a")),
        ("storageClassName", json!("fast")),
    ] {
        let mut by_hand = set.clone();
        claim(&mut by_hand, key, value);
        silent(&by_hand, &all);
    }
    // Without any class, an administrator creates volumes manually.
    silent(&set, &[]);
    for annotation in [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ] {
        let mut default = all.clone();
        default[0]["metadata"]["annotations"] = json!({annotation: "true"});
        silent(&set, &default);
        default[0]["metadata"]["annotations"] = json!({annotation: "false"});
        assert_eq!(changed(&set, &view(&default)).len(), 1);
    }
}

#[test]
fn an_object_is_not_held_against_itself() {
    let agent = objects(AGENT).remove(0);
    let cluster = view([&agent]);
    assert_eq!(created(&agent, &cluster), Vec::<String>::new(), "it was just stored");
    let response = review(&agent, Some(&agent), &cluster, &Policy::default());
    assert_eq!(warnings(&response), Vec::<&str>::new());
    // The other DaemonSet matters, and the warning names it.
    let found = created(&other(), &cluster);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("port 9100/TCP of the node is also claimed by DaemonSet agent"));
}

#[test]
fn both_directions_of_an_overlap_are_found() {
    let (agent, mut other) = (objects(AGENT).remove(0), other());
    other["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("ports");
    let labels = json!({"app": "shop", "tier": "db"});
    other["spec"]["selector"]["matchLabels"] = labels.clone();
    other["spec"]["template"]["metadata"]["labels"] = labels;
    let text = |object: &Value, there: &Value| created(object, &view([there])).remove(0);
    let selects = text(&agent, &other);
    assert!(selects.contains("this also selects the pods of DaemonSet other"), "{selects}");
    let selected = text(&other, &agent);
    assert!(selected.contains("also selected by DaemonSet agent"), "{selected}");
    for kind in ["StatefulSet", "Deployment"] {
        other["kind"] = json!(kind);
        let found = text(&agent, &other);
        assert!(found.contains(&format!("the pods of {kind} other")), "{found}");
    }
}

#[test]
fn unknown_kinds_are_ignored_and_old_ones_are_dated() {
    let (agent, other) = (objects(AGENT).remove(0), other());
    let mut cluster = view([&other]);
    let policy = denying();
    assert_eq!(review(&agent, None, &cluster, &policy)["allowed"], false);
    let as_of: Timestamp = "2026-11-22T10:20:30Z".parse().unwrap();
    cluster.set_freshness(Kind::DaemonSet, Freshness::Stale { as_of });
    let stale = review(&agent, None, &cluster, &policy);
    assert_eq!(stale["allowed"], true);
    let text = warnings(&stale)[0];
    assert!(text.contains("hostPort: as of 10:20:30 UTC: port 9100/TCP"), "{text}");
    cluster.set_freshness(Kind::DaemonSet, Freshness::Unknown);
    assert_eq!(created(&agent, &cluster), Vec::<String>::new());
    assert_eq!(created(&agent, &View::default()), Vec::<String>::new());
}

#[test]
fn presence_can_deny_and_absence_cannot() {
    let policy = denying();
    // A trap also finds its fault in the object alone.
    for rule in cross_object().filter(|it| it.phase().is_none()) {
        let (all, before) = changes(rule.meta.bad);
        let answers =
            all.iter().enumerate().filter(|(_, object)| is_set(object)).map(|(i, set)| {
                let others =
                    all.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
                review(set, before.first(), &view(others), &policy)
            });
        let denied = answers.filter(|answer| answer["allowed"] == false).count();
        assert_eq!(denied == 0, rule.evidence() != Some(Evidence::Presence), "{}", rule.meta.id);
    }
}

#[test]
fn an_object_that_had_the_fault_can_be_changed() {
    let (agent, other) = (objects(AGENT).remove(0), other());
    let policy = denying();
    let cluster = view([&agent, &other]);
    let update = |old: &Value| review(&agent, Some(old), &cluster, &policy)["allowed"].clone();
    assert_eq!(update(&agent), true, "the old one claimed the port too");
    let mut old = agent.clone();
    old["spec"]["template"]["spec"]["containers"][0]["ports"][0]["hostPort"] = json!(9200);
    assert_eq!(update(&old), false, "the old one claimed another port");
}

#[test]
fn an_object_that_is_being_deleted_neither_conflicts_nor_is_missing() {
    let (agent, mut other) = (objects(AGENT).remove(0), other());
    other["metadata"]["deletionTimestamp"] = json!("2026-11-22T10:20:30Z");
    assert_eq!(created(&agent, &view([&other])), Vec::<String>::new());
    let rule = cross_object().find(|rule| rule.meta.id == "service-missing").unwrap();
    let mut all = objects(rule.meta.good);
    let service = all.iter_mut().find(|object| object["kind"] == "Service").unwrap();
    service["metadata"]["deletionTimestamp"] = json!("2026-11-22T10:20:30Z");
    let set = all.iter().find(|object| is_set(object)).unwrap();
    assert_eq!(changed(set, &view(&all)), Vec::<String>::new());
}

#[test]
fn a_daemon_set_whose_nodes_are_all_tainted_is_warned_of() {
    let node = |name: &str, labels: Value, taints: Value| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints}})
    };
    let other = node("plain", json!({}), json!([]));
    let mut set = objects(AGENT).remove(0);
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({"gpu": "a"});
    let found = |set: &Value, taint: Value| {
        created(set, &view([&other, &node("worker", json!({"gpu": "a"}), json!([taint]))]))
    };
    for effect in ["NoSchedule", "NoExecute"] {
        let warnings = found(&set, json!({"key": "gpu", "value": "only", "effect": effect}));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let start =
            "no-node-matches: spec.template.spec.tolerations: each node that it may run on has";
        assert!(warnings[0].starts_with(start), "{warnings:?}");
        assert!(warnings[0].contains(&format!("gpu=only:{effect} of Node worker")), "{warnings:?}");
    }
    for (key, effect) in [
        ("gpu", "PreferNoSchedule"),
        ("node-role.kubernetes.io/control-plane", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
        ("node.kubernetes.io/network-unavailable", "NoSchedule"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
        ("example.com/agent-not-ready", "NoSchedule"),
    ] {
        let warnings = found(&set, json!({"key": key, "effect": effect}));
        assert_eq!(warnings, Vec::<String>::new(), "{key}:{effect}");
    }
    // Without a selector, the other node suffices.
    let gpu = json!({"key": "gpu", "effect": "NoSchedule"});
    set["spec"]["template"]["spec"].as_object_mut().unwrap().remove("nodeSelector");
    assert_eq!(found(&set, gpu.clone()), Vec::<String>::new());
    let only = node("worker", json!({}), json!([gpu]));
    assert_eq!(created(&set, &view([&only])).len(), 1);
    // A StatefulSet may wait for a node.
    set["kind"] = json!("StatefulSet");
    assert_eq!(created(&set, &view([&only])), Vec::<String>::new());
}
