//! `setguard plan --live`, against a stand-in for the API server.

use crate::prelude::*;
use crate::{api_server::Cluster, wait};

fn set(image: &str) -> Value {
    let mut set = wait::set("db", 3, 3);
    set["spec"]["template"]["spec"]["containers"] = json!([{"name": "main", "image": image}]);
    set
}

impl Cluster {
    fn planned(ready: [bool; 3]) -> Self {
        let cluster = Cluster::of("plan", "36");
        cluster.has("statefulsets", &set("db:1"));
        cluster.has("controllerrevisions", &wait::revision("db", "new", 1, &set("db:1")));
        for (i, ready) in ready.into_iter().enumerate() {
            let reason = if ready { "" } else { "CrashLoopBackOff" };
            let mut pod = wait::pod(&format!("db-{i}"), "new", reason, "");
            pod["spec"]["containers"] =
                set("db:1")["spec"]["template"]["spec"]["containers"].take();
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
