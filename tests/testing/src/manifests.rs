//! Small valid manifests for the cases to modify, and the fixtures.

use crate::prelude::*;

pub fn daemon_set(name: &str) -> Value {
    workload("DaemonSet", name)
}

pub fn stateful_set(name: &str) -> Value {
    with(workload("StatefulSet", name), &json!({ "serviceName": name, "replicas": 2 }))
}

/// A valid DaemonSet whose rollout never ends: `surge-host-port`.
pub fn surging(name: &str) -> Value {
    let surge = json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    let mut set = rolled_by(daemon_set(name), &surge);
    set["spec"]["template"]["spec"]["containers"][0]["ports"] =
        json!([{ "containerPort": 80, "hostPort": 80 }]);
    set
}

pub fn within(mut set: Value, namespace: &str) -> Value {
    set["metadata"]["namespace"] = json!(namespace);
    set
}

/// The set with this in its spec.
pub fn with(mut set: Value, spec: &Value) -> Value {
    json_patch::merge(&mut set["spec"], spec);
    set
}

/// The set with this in the spec of its pods.
pub fn with_pod(set: Value, spec: &Value) -> Value {
    with(set, &json!({ "template": { "spec": spec } }))
}

pub fn rolled_by(set: Value, strategy: &Value) -> Value {
    with(set, &json!({ "updateStrategy": strategy }))
}

pub fn with_app(mut set: Value, app: &str) -> Value {
    set["spec"]["selector"]["matchLabels"] = json!({ "app": app });
    set["spec"]["template"]["metadata"]["labels"] = json!({ "app": app });
    set
}

pub fn add_claim(set: &mut Value, class: Option<&str>, size: &str) {
    set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
        json!([{ "name": "data", "mountPath": "/data" }]);
    let resources = json!({ "requests": { "storage": size } });
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": resources,
    });
    set["spec"]["volumeClaimTemplates"] = json!([{ "metadata": { "name": "data" }, "spec": spec }]);
}

pub fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": pod_spec(),
    })
}

fn workload(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": { "app": "e2e" } },
            "template": { "metadata": { "labels": { "app": "e2e" } }, "spec": pod_spec() },
        },
    })
}

fn pod_spec() -> Value {
    json!({ "containers": [{ "name": "main", "image": "registry.example/main:1" }] })
}

/// The fixtures in a folder under `tests/fixtures`, with their texts, without old objects.
pub fn fixtures(folder: &str) -> Vec<(PathBuf, String)> {
    below(Path::new(ROOT).join("tests/fixtures").join(folder))
}

/// The cases of all rules, `crates/core/src/rules/*/cases`, with their texts, without old objects.
pub fn cases() -> Vec<(PathBuf, String)> {
    let mut files = below(Path::new(ROOT).join("crates/core/src/rules"));
    files.retain(|(path, _)| path.parent().is_some_and(|folder| folder.ends_with("cases")));
    files
}

fn below(folder: PathBuf) -> Vec<(PathBuf, String)> {
    assert!(folder.is_dir(), "{}", folder.display());
    let mut paths = vec![folder];
    let mut files = Vec::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "yaml")
            && !path.to_string_lossy().ends_with(".old.yaml")
        {
            files.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}
