//! `setguard plan --live`, against a stand-in for the API server.

use crate::prelude::*;
use crate::{api_server::Cluster, cli::Ran};

fn set(image: &str) -> Value {
    let labels = json!({"app": "db"});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "db"},
        "spec": {
            "replicas": 3, "serviceName": "db", "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "db", "image": image}]},
            },
        },
    })
}

fn owned(kind: &str, name: &str, labels: &Value) -> Value {
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": true});
    json!({"kind": kind, "metadata": {
        "name": name, "namespace": "shop", "labels": labels, "ownerReferences": [owner]}})
}

impl Cluster {
    fn planned(ready: [bool; 3]) -> Self {
        let cluster = Cluster::of("plan", "36");
        let mut stored = set("db:1");
        let revision = "db-old";
        stored["status"] = json!({
            "replicas": 3, "currentRevision": revision, "updateRevision": revision});
        cluster.has("statefulsets", &stored);
        let hash = json!({"controller-revision-hash": "db-old"});
        let mut revision = owned("ControllerRevision", "db-old", &hash);
        revision["data"] = json!({"spec": {"template": set("db:1")["spec"]["template"]}});
        revision["revision"] = json!(1);
        cluster.has("controllerrevisions", &revision);
        for (i, ready) in ready.into_iter().enumerate() {
            let mut pod = owned("Pod", &format!("db-{i}"), &hash);
            let status = if ready { "True" } else { "False" };
            let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
            pod["spec"] = json!({"nodeName": "n", "containers": [{"name": "db", "image": "db:1"}]});
            pod["status"] = json!({
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "containerStatuses": [{"name": "db", "image": "db:1", "imageID": "", "ready": ready, "restartCount": 0,
                    "state": if ready { json!({}) } else { waiting }}],
            });
            cluster.has("pods", &pod);
        }
        cluster
    }

    fn plan(&self, manifest: &Value) -> Ran {
        self.folder.write("db.json", manifest.to_string().as_bytes());
        self.run(&["db.json", "--live", "--format", "json"])
    }

    fn deleted(&self, manifest: &Value) -> (Vec<String>, Value) {
        let ran = self.plan(manifest).ends(0);
        let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
        let object = &plan["objects"][0];
        let steps = object["steps"].as_array().unwrap_or_else(|| panic!("{plan:#}"));
        let deleted = steps.iter().filter(|step| step["action"] == "delete");
        let names = deleted.map(|step| step["pod"].as_str().unwrap().to_owned()).collect();
        (names, object["summary"]["stopsAt"].clone())
    }
}

#[test]
fn the_pods_of_the_cluster_are_replaced_in_order() {
    let cluster = Cluster::planned([true; 3]);
    let (deleted, stops) = cluster.deleted(&set("db:2"));
    assert_eq!(
        (deleted, stops),
        (["db-2", "db-1", "db-0"].map(str::to_owned).to_vec(), Value::Null)
    );
    assert_eq!(cluster.deleted(&set("db:1")).0, [""; 0], "nothing changes");
    let wrote = cluster
        .api_server
        .change(|world| world.heads.iter().find(|head| !head.starts_with("GET ")).cloned());
    assert_eq!(wrote, None);
}

#[test]
fn a_broken_pod_of_the_cluster_stops_the_rollout() {
    let cluster = Cluster::planned([true, false, true]);
    let (deleted, stops) = cluster.deleted(&set("db:2"));
    assert_eq!(deleted, [""; 0]);
    assert_eq!(stops, "db-1");
}

#[test]
fn what_may_not_be_read_is_an_error() {
    let cluster = Cluster::planned([true; 3]);
    cluster.api_server.change(|world| world.forbidden = ["pods"].into());
    cluster.plan(&set("db:2")).ends(2).reports("/pods");
}

#[test]
fn what_is_unknown_without_a_right_is_said() {
    let cluster = Cluster::planned([true; 3]);
    let delete = json!({"whenScaled": "Delete"});
    let mut fewer = set("db:1");
    fewer["spec"]["replicas"] = json!(2);
    fewer["spec"]["persistentVolumeClaimRetentionPolicy"] = delete;
    assert_eq!(cluster.plan(&fewer).stderr, "");
    let kinds = ["events", "namespaces", "persistentvolumes", "poddisruptionbudgets"];
    cluster.api_server.change(|world| world.forbidden = kinds.into());
    let ran = cluster.plan(&fewer).ends(0);
    for kind in ["Events", "PersistentVolumes", "PodDisruptionBudgets"] {
        let note = format!("note: {kind} may not be read, so it isn't known ");
        assert!(ran.stderr.contains(&note), "{}", ran.stderr);
    }
    assert!(ran.stderr.contains("note: namespace shop may not be read, "), "{}", ran.stderr);
}
