//! `setguard audit`, against a stand-in for the API server.

mod breaks;
mod changes;
mod cluster;
mod guard;
mod health;
mod reading;
mod reports;

use crate::prelude::*;
use crate::{api_server::Cluster, cli::policy, json_schema};

impl Cluster {
    fn audited() -> Self {
        let cluster = Cluster::of("audit", "36");
        for name in ["default", "shop", "bank"] {
            let namespace = json!({"kind": "Namespace", "metadata": {"name": name}});
            cluster.has("namespaces", &namespace);
        }
        cluster
    }

    fn rules(self, traps: &[(&str, &str)], rest: &str) -> Self {
        self.folder.write(".quiet.yaml", policy(traps, rest).as_bytes());
        self
    }

    fn json(&self, code: i32, args: &[&str]) -> Value {
        let ran = self.run(&[&["--format", "json"], args].concat()).ends(code);
        json_schema::report(&ran.stdout)
    }

    fn findings(&self, code: i32, args: &[&str]) -> Vec<String> {
        let report = self.json(code, args);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let one = |finding: &Value| {
            let object = &finding["object"];
            let [rule, namespace, name] =
                [&finding["rule"], &object["namespace"], &object["name"]].map(text);
            format!("{rule} {namespace}/{name}")
        };
        report["findings"].as_array().unwrap().iter().map(one).collect()
    }
}

fn stored(kind: &str, namespace: &str, name: &str) -> Value {
    let text = match kind {
        "DaemonSet" => include_str!("../fixtures/audit/daemonset.txt"),
        _ => include_str!("../fixtures/audit/statefulset.txt"),
    };
    let text = text.replace("KIND", kind).replace("NAMESPACE", namespace).replace("NAME", name);
    serde_json::from_str(&text).unwrap()
}

/// A StatefulSet with the fault `partition-covers-all`.
fn covered(namespace: &str, name: &str) -> Value {
    let mut set = stored("StatefulSet", namespace, name);
    set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(4);
    set
}

fn unhealthy(namespace: &str, name: &str) -> Value {
    let mut set = stored("StatefulSet", namespace, name);
    set["status"]["readyReplicas"] = json!(1);
    set["status"]["availableReplicas"] = json!(1);
    set
}

const COVERED: &[(&str, &str)] =
    &[("partition-covers-all", "deny"), ("history-limit-zero", "warn")];

fn mixed() -> Cluster {
    let cluster = Cluster::audited().rules(COVERED, "");
    let mut careless = stored("DaemonSet", "shop", "agent");
    careless["spec"]["revisionHistoryLimit"] = json!(0);
    cluster
        .has("daemonsets", &stored("DaemonSet", "bank", "agent"))
        .has("statefulsets", &stored("StatefulSet", "bank", "db"))
        .has("daemonsets", &careless)
        .has("statefulsets", &covered("shop", "cache"))
        .has("statefulsets", &stored("StatefulSet", "shop", "db"));
    cluster
}

#[test]
fn the_worst_comes_first_and_what_is_healthy_is_one_line() {
    let cluster = mixed();
    let ran = cluster.run(&[]).ends(1).reports_only("");
    snapshot(
        "audit/the_worst_comes_first_and_what_is_healthy_is_one_line",
        &cluster.folder.anywhere(&ran.stdout),
    );
}

fn waiting(name: &str, ready: i32) -> Value {
    let mut set = unhealthy("shop", name);
    set["status"]["readyReplicas"] = json!(ready);
    let written = json!({
        "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "apps/v1",
        "subresource": "status", "time": "2026-11-20T10:00:00Z",
    });
    set["metadata"]["managedFields"].as_array_mut().unwrap().push(written);
    set
}

#[test]
fn a_mode_of_the_policy_also_holds_in_an_outage() {
    for (mode, severity) in [("audit", "note"), ("warn", "warning")] {
        let rest = format!("  fewer-ready-than-wanted: {mode}\n");
        let cluster = Cluster::audited().rules(&[], &rest);
        cluster.has("statefulsets", &waiting("down", 0));
        assert_eq!(cluster.json(0, &[])["findings"][0]["severity"], severity);
    }
}

#[test]
fn warnings_are_errors_if_asked_for() {
    let cluster = Cluster::audited();
    cluster.has("statefulsets", &waiting("half", 1));
    assert_eq!(cluster.run(&[]).code, 0);
    assert_eq!(cluster.run(&["--deny-warnings"]).code, 1);
    assert_eq!(cluster.run(&["--deny-warnings", "--exit-zero"]).code, 0);
}

#[test]
fn a_cluster_without_faults_is_exit_code_0() {
    let cluster = Cluster::audited();
    // The policy leaves every rule at its default.
    cluster.folder.write(".quiet.yaml", b"apiVersion: setguard.io/v1alpha1\nkind: Policy\n");
    cluster
        .has("daemonsets", &stored("DaemonSet", "shop", "agent"))
        .has("statefulsets", &stored("StatefulSet", "shop", "db"));
    let ran = cluster.run(&[]);
    let wanted = "nothing found in 2 objects\n\
                  healthy: 1 DaemonSet, 1 StatefulSet\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, wanted, ""));
}

#[test]
fn json_has_objects_instead_of_files() {
    let mut report = mixed().json(1, &[]);
    let policy =
        report.as_object_mut().and_then(|it| it.shift_remove("policy")).expect("the policy");
    assert!(policy["file"].as_str().unwrap().ends_with(".quiet.yaml"), "{policy}");
    snapshot("audit/json_has_objects_instead_of_files", &format!("{report:#}"));
}

#[test]
fn every_format_has_a_place_for_an_object() {
    let cluster = mixed();
    let args =
        ["--output", "sarif=a.sarif", "--output", "junit=a.xml", "--output", "gitlab=a.json"];
    assert_eq!(cluster.run(&args).code, 1);
    let read = |name: &str| fs::read_to_string(cluster.folder.0.path().join(name)).unwrap();
    let log = json_schema::sarif(&read("a.sarif"));
    let first = &log["runs"][0]["results"][0];
    let place = &first["locations"][0];
    let uri = &place["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(*uri, "cluster/shop/StatefulSet/cache.yaml");
    assert_eq!(place["logicalLocations"][0]["fullyQualifiedName"], "StatefulSet shop/cache");
    let gitlab: Value = serde_json::from_str(&read("a.json")).unwrap();
    assert_eq!(gitlab[0]["location"]["path"], "cluster/shop/StatefulSet/cache.yaml");
    let junit = read("a.xml");
    let junit = roxmltree::Document::parse(&junit).unwrap();
    let cases: Vec<_> = junit.descendants().filter(|it| it.has_tag_name("testcase")).collect();
    assert_eq!(cases.len(), 5, "an object, a test");
    let failed = |case: &&roxmltree::Node<'_, '_>| {
        case.children().any(|child| child.has_tag_name("failure"))
    };
    let failed: Vec<_> = cases.iter().filter(failed).map(|case| case.attribute("name")).collect();
    assert_eq!(failed, [Some("StatefulSet shop/cache")]);
}

#[test]
fn objects_are_evaluated_together() {
    let cluster = Cluster::audited();
    let mut other = stored("DaemonSet", "shop", "other");
    other["spec"]["selector"] = json!({"matchLabels": {"app": "agent"}});
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "agent"});
    cluster
        .has("daemonsets", &stored("DaemonSet", "shop", "agent"))
        .has("daemonsets", &other)
        .has("daemonsets", &stored("DaemonSet", "bank", "agent"));
    let both = ["selector-overlap shop/agent", "selector-overlap shop/other"];
    assert_eq!(cluster.findings(0, &[]), both);
}

#[test]
fn the_replica_sets_of_deployments_are_neither_read_nor_reported() {
    let cluster = Cluster::audited();
    let mut deployment = stored("Deployment", "shop", "web");
    let mut replicas = stored("ReplicaSet", "shop", "web-1");
    replicas["spec"]["template"]["metadata"]["labels"] = json!({"app": "web"});
    replicas["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
    replicas["metadata"]["ownerReferences"] =
        json!([{"kind": "Deployment", "name": "web", "controller": true}]);
    let mut set = stored("StatefulSet", "shop", "db");
    set["spec"]["template"]["metadata"]["labels"]["app"] = json!("web");
    set["spec"]["selector"]["matchLabels"]["app"] = json!("web");
    deployment.as_object_mut().unwrap().remove("status");
    cluster.has("deployments", &deployment).has("replicasets", &replicas).has("statefulsets", &set);
    let report = cluster.json(0, &[]);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{report:#}");
    let message = findings[0]["message"].as_str().unwrap();
    assert!(message.starts_with("this also selects the pods of Deployment web,"), "{message}");
    let asked = "/apis/apps/v1/replicasets?&limit=500&labelSelector=%21pod-template-hash";
    let requests = cluster.api_server.world().requests.clone();
    let of_replica_sets: Vec<_> = requests.iter().filter(|it| it.contains("replicasets")).collect();
    assert_eq!(of_replica_sets.len(), 1);
    let parts = |uri: &str| {
        let mut parts: Vec<_> =
            uri.split(['?', '&']).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        parts.sort();
        parts
    };
    assert_eq!(parts(of_replica_sets[0]), parts(asked));
}

#[test]
fn exceptions_and_annotations_count_as_in_check() {
    let exceptions = "exceptions:\n\
        - {rules: [partition-covers-all], namespaces: [shop], names: [cache], reason: a canary}\n";
    let cluster = Cluster::audited().rules(COVERED, exceptions);
    let mut annotated = stored("DaemonSet", "shop", "agent");
    annotated["metadata"]["annotations"]["setguard.io/ignore"] = json!("history-limit-zero");
    annotated["spec"]["revisionHistoryLimit"] = json!(0);
    cluster.has("statefulsets", &covered("shop", "cache")).has("daemonsets", &annotated);
    let report = cluster.json(0, &[]);
    let eased: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["severity"].as_str().unwrap(), finding["eased"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("note", "exempted by the annotation setguard.io/ignore"),
        ("note", "exempted by the policy: a canary"),
    ];
    assert_eq!(eased, wanted);
    assert_eq!(report["summary"]["healthy"], json!({"daemonSets": 1, "statefulSets": 1}));
}

#[test]
fn sets_of_openkruise_are_evaluated_where_there_are_any() {
    let cluster = Cluster::audited().rules(COVERED, "");
    let mut set = covered("shop", "cache");
    set["apiVersion"] = json!("apps.kruise.io/v1beta1");
    cluster.api_server.change(|world| {
        world.custom.insert("apps.kruise.io/v1beta1", "statefulsets");
    });
    cluster.has("kruise:statefulsets", &set);
    assert_eq!(cluster.findings(1, &[]), ["partition-covers-all shop/cache"]);
}
