//! `setguard audit`, against a stand-in for the API server.

mod breaks;
mod changes;
mod cluster;
mod guard;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use setguard_testing::recorded::snapshot;

use crate::{
    api_server::ApiServer,
    cli::{Folder, Ran, policy, setguard},
    json_schema,
};

/// A cluster, and a folder in which the command runs.
struct Cluster {
    api_server: ApiServer,
    folder: Folder,
    kubeconfig: PathBuf,
}

impl Cluster {
    fn new() -> Self {
        let api_server = ApiServer::start("36");
        let folder = Folder::new([]);
        let kubeconfig = api_server.kubeconfig(folder.0.path());
        let cluster = Cluster { api_server, folder, kubeconfig };
        for name in ["default", "shop", "bank"] {
            let namespace = json!({"kind": "Namespace", "metadata": {"name": name}});
            cluster.has("namespaces", &namespace);
        }
        cluster
    }

    fn has(&self, resource: &str, object: &Value) -> &Self {
        self.api_server.apply(resource, object);
        self
    }

    /// A policy with only these traps.
    fn rules(self, traps: &[(&str, &str)], rest: &str) -> Self {
        self.folder.write(".quiet.yaml", policy(traps, rest).as_bytes());
        self
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = setguard(self.folder.0.path(), &[&["audit"], args].concat());
        command.env("KUBECONFIG", &self.kubeconfig).output().unwrap().into()
    }

    /// The report as JSON, of an audit that ends with this code.
    fn json(&self, code: i32, args: &[&str]) -> Value {
        let ran = self.run(&[&["--format", "json"], args].concat());
        assert_eq!(ran.code, code, "{}\n{}", ran.stdout, ran.stderr);
        json_schema::report(&ran.stdout)
    }

    /// The rules and objects of the findings, in their order.
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

/// A set as the API server stores it, healthy by its status.
fn stored(kind: &str, namespace: &str, name: &str) -> Value {
    let labels = json!({"app": name});
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": {
            "name": name, "namespace": namespace, "uid": format!("uid-of-{name}"), "generation": 1,
            "creationTimestamp": "2026-11-20T10:00:00Z",
            "annotations": {"deprecated.daemonset.template.generation": "1"},
            "managedFields": [{
                "manager": "kubectl", "operation": "Apply", "apiVersion": "apps/v1",
                "time": "2026-11-20T10:00:00Z", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:unknown": {}}},
            }],
        },
        "spec": {
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"creationTimestamp": null, "labels": labels},
                "spec": {
                    "containers": [{
                        "name": "main", "image": "registry.example.com/main:1",
                        "imagePullPolicy": "IfNotPresent", "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "readinessProbe": {
                            "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1,
                            "timeoutSeconds": 1, "tcpSocket": {"port": 80},
                        },
                    }],
                    "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
                    "schedulerName": "default-scheduler", "securityContext": {},
                    "terminationGracePeriodSeconds": 30,
                    "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                },
            },
            "updateStrategy": {"type": "RollingUpdate"},
        },
    });
    if kind == "DaemonSet" {
        set["spec"]["updateStrategy"]["rollingUpdate"] =
            json!({"maxSurge": 0, "maxUnavailable": 1});
        set["status"] = json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0,
            "numberReady": 0, "observedGeneration": 1,
        });
    } else {
        set["spec"]["updateStrategy"]["rollingUpdate"] = json!({"partition": 0});
        set["spec"]["podManagementPolicy"] = json!("OrderedReady");
        set["spec"]["serviceName"] = json!(name);
        set["spec"]["replicas"] = json!(2);
        set["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
        set["status"] = json!({
            "availableReplicas": 2, "collisionCount": 0, "currentReplicas": 2,
            "currentRevision": "main-1", "observedGeneration": 1, "readyReplicas": 2,
            "replicas": 2, "updateRevision": "main-1", "updatedReplicas": 2,
        });
    }
    set
}

/// A StatefulSet with `partition-covers-all`.
fn covered(namespace: &str, name: &str) -> Value {
    let mut set = stored("StatefulSet", namespace, name);
    set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(4);
    set
}

/// A set whose status says that a pod is missing.
fn unhealthy(namespace: &str, name: &str) -> Value {
    let mut set = stored("StatefulSet", namespace, name);
    set["status"]["readyReplicas"] = json!(1);
    set["status"]["availableReplicas"] = json!(1);
    set
}

const COVERED: &[(&str, &str)] =
    &[("partition-covers-all", "deny"), ("history-limit-zero", "warn")];

/// A cluster with objects of every kind.
fn mixed() -> Cluster {
    let cluster = Cluster::new().rules(COVERED, "");
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
    let ran = cluster.run(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    snapshot(
        "audit/the_worst_comes_first_and_what_is_healthy_is_one_line",
        &cluster.folder.anywhere(&ran.stdout),
    );
}

/// A set whose status has not followed a change.
fn unobserved(name: &str) -> Value {
    let mut set = stored("StatefulSet", "shop", name);
    set["metadata"]["generation"] = json!(2);
    set
}

#[test]
fn a_controller_that_observes_nothing_is_one_error() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        cluster.has("statefulsets", &unobserved(name));
    }
    cluster.has("statefulsets", &stored("StatefulSet", "shop", "fine"));
    assert_eq!(cluster.findings(1, &[]), ["change-not-observed shop/a"]);
    let report = cluster.json(1, &[]);
    let text = report["findings"][0]["message"].as_str().unwrap();
    assert!(text.contains("2 other sets (StatefulSet shop/b, StatefulSet shop/c)"), "{text}");
    // The others have no finding of their own, and aren't healthy either.
    let healthy = json!({"daemonSets": 0, "statefulSets": 1, "notSettled": 2});
    assert_eq!(report["summary"]["healthy"], healthy);
    assert!(cluster.run(&[]).stdout.contains("; not settled: 2 sets\n"));
    // A change of a moment ago is nothing.
    let report = cluster.json(0, &["--patience", "999999h"]);
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["summary"]["healthy"]["notSettled"], 3);
}

/// A StatefulSet of which so many pods have not been ready for a long time.
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
fn a_set_without_a_ready_pod_comes_first_and_is_an_error() {
    let cluster = Cluster::new().rules(&[("partition-covers-all", "deny")], "");
    cluster.has("statefulsets", &covered("bank", "a"));
    cluster.has("statefulsets", &waiting("down", 0)).has("statefulsets", &waiting("half", 1));
    let report = cluster.json(1, &[]);
    let found: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["object"]["name"].as_str().unwrap(), it["severity"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [("down", "error"), ("half", "warning"), ("a", "error")]);
    let ready = &report["findings"][0];
    assert_eq!(ready["reason"], "FewerReadyThanWanted");
    assert_eq!(ready["title"], "0 of 2 pods are ready");
    assert_eq!(ready["cause"], "nothing that is known says why");
    assert_eq!(ready["since"], "2026-11-20T10:00:00Z");
    assert_eq!(ready["commands"][0]["run"], "kubectl describe -n shop statefulset/down");
    assert_eq!(report["findings"][2]["reason"], "FieldValueInvalid");
    assert_eq!((&ready["ready"], &ready["wanted"]), (&json!(0), &json!(2)));
    assert!(cluster.run(&[]).stdout.contains("in: StatefulSet shop/down, 0 of 2 pods ready\n"));
}

#[test]
fn equal_findings_are_one_in_text_and_all_in_json() {
    let cluster = Cluster::new().rules(COVERED, "");
    for i in 0..40 {
        cluster.has("statefulsets", &covered(["bank", "shop"][i % 2], &format!("db-{i:02}")));
    }
    // Four of a kind are four.
    for i in 0..4 {
        let mut careless = stored("DaemonSet", "shop", &format!("agent-{i}"));
        careless["spec"]["revisionHistoryLimit"] = json!(0);
        cluster.has("daemonsets", &careless);
    }
    let ran = cluster.run(&[]);
    let count = |text: &str| ran.stdout.matches(text).count();
    assert_eq!(count("error[partition-covers-all]"), 1, "{}", ran.stdout);
    assert_eq!(count("warning[history-limit-zero]"), 4);
    let names = "in: 40 objects: StatefulSet shop/db-01, StatefulSet shop/db-03, StatefulSet \
                 shop/db-05, StatefulSet shop/db-07, StatefulSet shop/db-09 and 35 more\n";
    assert_eq!(count(names), 1, "{}", ran.stdout);
    assert_eq!(count("40 with errors, 4 with warnings\n"), 1);
    assert_eq!(cluster.findings(1, &[]).len(), 44);
}

#[test]
fn a_mode_of_the_policy_also_holds_in_an_outage() {
    for (mode, severity) in [("audit", "note"), ("warn", "warning")] {
        let rest = format!("  fewer-ready-than-wanted: {mode}\n");
        let cluster = Cluster::new().rules(&[], &rest);
        cluster.has("statefulsets", &waiting("down", 0));
        assert_eq!(cluster.json(0, &[])["findings"][0]["severity"], severity);
    }
}

#[test]
fn warnings_are_errors_if_asked_for() {
    let cluster = Cluster::new();
    cluster.has("statefulsets", &waiting("half", 1));
    assert_eq!(cluster.run(&[]).code, 0);
    assert_eq!(cluster.run(&["--deny-warnings"]).code, 1);
    assert_eq!(cluster.run(&["--deny-warnings", "--exit-zero"]).code, 0);
}

#[test]
fn a_cluster_without_faults_is_exit_code_0() {
    let cluster = Cluster::new();
    // The policy leaves every rule at its default.
    cluster.folder.write(".quiet.yaml", b"apiVersion: setguard.io/v1alpha1\nkind: Policy\n");
    cluster
        .has("daemonsets", &stored("DaemonSet", "shop", "agent"))
        .has("statefulsets", &stored("StatefulSet", "shop", "db"));
    let ran = cluster.run(&[]);
    let wanted = "2 objects checked: 0 with errors, 0 with warnings\n\
                  healthy: 1 DaemonSet, 1 StatefulSet\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, wanted, ""));
}

#[test]
fn json_has_objects_instead_of_files() {
    let mut report = mixed().json(1, &[]);
    let policy =
        report.as_object_mut().and_then(|it| it.shift_remove("policy")).expect("the policy");
    assert!(policy["file"].as_str().unwrap().ends_with(".quiet.yaml"), "{policy}");
    snapshot("audit/json_has_objects_instead_of_files", &format!("{:#}", report));
}

#[test]
fn every_format_has_a_place_for_an_object() {
    let cluster = mixed();
    let args =
        ["--output", "sarif=a.sarif", "--output", "junit=a.xml", "--output", "gitlab=a.json"];
    assert_eq!(cluster.run(&args).code, 1);
    let read = |name: &str| fs::read_to_string(cluster.folder.0.path().join(name)).unwrap();
    let log = crate::reports::sarif(&read("a.sarif"));
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
    let cluster = Cluster::new();
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
    let cluster = Cluster::new();
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
    let cluster = Cluster::new().rules(COVERED, exceptions);
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
fn the_release_and_the_feature_gates_of_the_cluster_apply() {
    let ignored = [("max-unavailable-ignored", "warn")];
    let cluster = Cluster::new().rules(&ignored, "");
    let mut set = stored("StatefulSet", "shop", "db");
    set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(2);
    cluster.has("statefulsets", &set);
    assert_eq!(cluster.findings(0, &[]), ["max-unavailable-ignored shop/db"]);
    let gate = "# HELP kubernetes_feature_enabled x\n\
        kubernetes_feature_enabled{name=\"MaxUnavailableStatefulSet\",stage=\"BETA\"} 1\n\
        process_cpu_seconds_total 1\n";
    cluster.api_server.change(|world| world.metrics = Some(gate.to_owned()));
    assert_eq!(cluster.findings(0, &[]), [""; 0]);
    // A release that the user names takes precedence.
    assert_eq!(cluster.findings(0, &["--kube-version", "1.36"]).len(), 1);
}

#[test]
fn what_may_not_be_read_is_named_once_and_the_rest_is_done() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.forbidden = ["nodes", "services"].into());
    let ran = cluster.run(&[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("partition-covers-all"), "{}", ran.stdout);
    let notes: Vec<_> = ran.stderr.lines().collect();
    let wanted = ["nodes", "services"].map(|kind| {
        format!("note: {kind} cannot be read, so the rules about them are silent: 403: you may not")
    });
    assert_eq!(notes, wanted);
    let report = cluster.json(1, &[]);
    assert_eq!(report["notes"].as_array().unwrap().len(), 2);
    assert_eq!(cluster.json(0, &["--exit-zero"])["findings"], report["findings"]);
    assert_eq!(cluster.run(&["--exit-zero", "--strict"]).code, 2, "this is no finding");
    let ran = cluster.run(&["--strict"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: nodes cannot be read"), "{}", ran.stderr);
}

#[test]
fn what_may_not_be_read_is_not_taken_for_absent() {
    let missing = |forbidden: &[&'static str]| {
        let cluster = Cluster::new();
        let mut set = stored("DaemonSet", "shop", "agent");
        set["spec"]["template"]["spec"]["priorityClassName"] = json!("high");
        set["spec"]["template"]["spec"]["serviceAccountName"] = json!("agent");
        cluster.has("daemonsets", &set);
        cluster.api_server.change(|world| world.forbidden = forbidden.iter().copied().collect());
        cluster.findings(0, &[])
    };
    let both = ["priority-class-missing shop/agent", "service-account-missing shop/agent"];
    assert_eq!(missing(&[]), both);
    assert_eq!(missing(&["priorityclasses"]), both[1..]);
    assert_eq!(missing(&["priorityclasses", "serviceaccounts"]), [""; 0]);
}

#[test]
fn without_any_set_that_may_be_read_it_fails() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.forbidden = ["daemonsets", "statefulsets"].into());
    let ran = cluster.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("name namespaces with -n"), "{}", ran.stderr);
    assert_eq!(cluster.api_server.asked("/nodes"), 0);
}

#[test]
fn lists_are_read_in_pages_and_two_at_a_time() {
    let cluster = Cluster::new().rules(COVERED, "");
    for i in 0..1203 {
        cluster.has("statefulsets", &stored("StatefulSet", "shop", &format!("db-{i}")));
    }
    let report = cluster.json(0, &[]);
    assert_eq!(report["summary"]["healthy"]["statefulSets"], 1203);
    assert_eq!(cluster.api_server.asked("/apps/v1/statefulsets?"), 3);
    assert!(cluster.api_server.lists_at_once() <= 2);
    let world = cluster.api_server.world();
    let lists = world.requests.iter().filter(|uri| uri.contains('?'));
    for uri in lists {
        assert!(uri.contains("limit=500") && !uri.contains("resourceVersion"), "{uri}");
    }
    let agent = format!("user-agent: setguard-audit/{}", env!("CARGO_PKG_VERSION"));
    for head in &world.heads {
        assert!(head.to_lowercase().contains(&agent), "{head}");
        assert!(head.starts_with("GET "), "{head}");
    }
}

#[test]
fn it_waits_when_the_api_server_asks_to_and_says_so_once() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.busy = 2);
    let ran = cluster.run(&[]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stderr, "note: throttled: the API server asks to wait\n");
}

#[test]
fn a_list_without_end_is_given_up() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.endless = Some(("services", true)));
    let ran = cluster.run(&[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let why = "services: the API server continues the list with the same token again";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn a_list_goes_on_when_its_version_is_gone() {
    for with_token in [true, false] {
        let cluster = Cluster::new().rules(COVERED, "");
        for i in 0..600 {
            cluster.has("statefulsets", &covered("shop", &format!("db-{i}")));
        }
        cluster.api_server.change(|world| world.gone = (1, with_token));
        assert_eq!(cluster.findings(1, &[]).len(), 600);
        // The watch starts from the previous version, or from the beginning.
        assert_eq!(
            cluster.api_server.asked("/apps/v1/statefulsets?"),
            if with_token { 3 } else { 4 }
        );
    }
}

#[test]
fn pods_are_only_listed_around_sets_that_are_not_healthy() {
    let cluster = mixed();
    cluster.run(&[]);
    assert_eq!(cluster.api_server.asked("/pods"), 0);
    assert_eq!(cluster.api_server.asked("/events"), 0);
    cluster.has("statefulsets", &unhealthy("bank", "ledger"));
    cluster.run(&[]);
    assert_eq!(cluster.api_server.asked("/pods"), 1);
    assert_eq!(cluster.api_server.asked("/api/v1/namespaces/bank/pods?"), 1);
    assert_eq!(cluster.api_server.asked("/api/v1/namespaces/bank/events?"), 1);
    for never in ["secrets", "configmaps"] {
        assert_eq!(cluster.api_server.asked(never), 0, "{never}");
    }
}

#[test]
fn only_the_namespaces_that_are_named_are_read() {
    let cluster = mixed();
    let report = cluster.json(0, &["-n", "bank", "--namespace", "bank"]);
    assert_eq!(report["summary"]["objects"], 2);
    let cluster_wide = ["/version", "/metrics", "/nodes?", "classes?", "kruise"];
    let world = cluster.api_server.world();
    for uri in &world.requests {
        let is_needed = cluster_wide.iter().any(|part| uri.contains(part));
        assert!(is_needed || uri.contains("/namespaces/bank"), "{uri}");
    }
    drop(world);
    let ran = cluster.run(&["-n", "nowhere", "-n", "bank"]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.stderr, "error: there is no namespace nowhere\n");
    let ran = cluster.run(&["-n", "../../secrets"]);
    assert!(ran.code == 2 && ran.stderr.contains("is not the name of a namespace"));
}

#[test]
fn claims_are_read_only_where_they_decide() {
    let shared = [("shared-volume", "warn")];
    let cluster = Cluster::new().rules(&shared, "");
    cluster.has("daemonsets", &stored("DaemonSet", "bank", "agent"));
    assert_eq!(cluster.findings(0, &[]), [""; 0]);
    assert_eq!(cluster.api_server.asked("persistentvolume"), 0);
    for (name, mode) in [("many", "ReadWriteMany"), ("once", "ReadWriteOnce")] {
        let mut set = stored("DaemonSet", "shop", name);
        set["spec"]["template"]["spec"]["volumes"] =
            json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
        let claim = json!({"metadata": {"name": name, "namespace": "shop"},
            "spec": {"accessModes": [mode]}});
        cluster.has("daemonsets", &set).has("persistentvolumeclaims", &claim);
    }
    assert_eq!(cluster.findings(0, &[]), ["shared-volume shop/once"]);
    assert_eq!(cluster.api_server.asked("/namespaces/bank/persistentvolumeclaims"), 0);
}

#[test]
fn sets_of_openkruise_are_evaluated_where_there_are_any() {
    let cluster = Cluster::new().rules(COVERED, "");
    let mut set = covered("shop", "cache");
    set["apiVersion"] = json!("apps.kruise.io/v1beta1");
    cluster.api_server.change(|world| {
        world.custom.insert("apps.kruise.io/v1beta1", "statefulsets");
    });
    cluster.has("kruise:statefulsets", &set);
    assert_eq!(cluster.findings(1, &[]), ["partition-covers-all shop/cache"]);
}

#[test]
fn a_cluster_that_does_not_answer_is_a_failure() {
    let cluster = Cluster::new();
    let ran = cluster.run(&["--context", "other"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: no usable kubeconfig"), "{}", ran.stderr);
    cluster.api_server.change(|world| world.garbage = Some("<html>".to_owned()));
    let ran = cluster.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("error: neither DaemonSets nor StatefulSets"), "{}", ran.stderr);
}

const OPEN_REPORTS: (&str, &str) = ("openreports.io/v1alpha1", "reports");
const POLICY_REPORTS: (&str, &str) = ("wgpolicyk8s.io/v1alpha2", "policyreports");

/// The report on an object with this uid.
fn report(cluster: &Cluster, resource: &str, uid: &str) -> Option<Value> {
    let mut report = cluster.api_server.get(resource, "shop", &format!("setguard-{uid}"))?;
    report["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    Some(report)
}

#[test]
fn reports_are_written_when_they_change_and_removed_when_nothing_is_found() {
    let cluster = mixed();
    let (group, resource) = OPEN_REPORTS;
    cluster.api_server.change(|world| {
        world.custom.insert(group, resource);
        world.custom.insert(POLICY_REPORTS.0, POLICY_REPORTS.1);
    });
    let writes = |args: &[&str]| {
        cluster.api_server.change(|world| world.heads.clear());
        let ran = cluster.run(args);
        assert_eq!(ran.stderr, "");
        let heads = cluster.api_server.world().heads.clone();
        let mut writes: Vec<_> = heads
            .iter()
            .filter(|head| !head.starts_with("GET "))
            .map(|head| head.split(" HTTP").next().unwrap().to_owned())
            .collect();
        writes.sort();
        writes
    };
    assert_eq!(writes(&[]), [""; 0], "no reports were requested");
    let path = |name: &str| format!("/apis/{group}/namespaces/shop/reports/setguard-uid-of-{name}");
    let query = "&force=true&fieldManager=setguard-audit";
    let auto = ["--cluster-reports", "auto"];
    let written = ["agent", "cache"].map(|name| format!("PATCH {}?{query}", path(name)));
    let of_first = writes(&auto);
    assert_eq!(of_first, written);
    snapshot(
        "audit/reports_are_written_when_they_change_and_removed_when_nothing_is_found",
        &format!("{:#}", report(&cluster, resource, "uid-of-cache").unwrap()),
    );
    assert_eq!(writes(&auto), [""; 0], "nothing has changed");

    cluster.has("statefulsets", &stored("StatefulSet", "shop", "cache"));
    assert_eq!(writes(&["--cluster-reports", "auto", "-n", "bank"]), [""; 0], "another namespace");
    cluster.api_server.change(|world| world.forbidden = ["statefulsets"].into());
    let ran = cluster.run(&auto);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(report(&cluster, resource, "uid-of-cache").is_some(), "it could not be read");
    cluster.api_server.change(|world| world.forbidden.clear());
    assert_eq!(writes(&auto), [format!("DELETE {}?", path("cache"))]);
}

#[test]
fn reports_are_those_that_the_cluster_has() {
    let cluster = mixed();
    let ran = cluster.run(&["--cluster-reports", "auto"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("note: no reports are written: the cluster"), "{}", ran.stderr);
    let ran = cluster.run(&["--cluster-reports", "openreports"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: no reports are written: the cluster"), "{}", ran.stderr);
    let (group, resource) = POLICY_REPORTS;
    cluster.api_server.change(|world| world.custom.insert(group, resource));
    assert_eq!(cluster.run(&["--cluster-reports", "auto"]).code, 1);
    let written = report(&cluster, resource, "uid-of-cache").unwrap();
    assert_eq!((&written["kind"], written.get("source")), (&json!("PolicyReport"), None));
    assert_eq!(written["apiVersion"], group);

    let forbidding = mixed();
    forbidding.api_server.change(|world| {
        world.custom.insert(group, resource);
        world.forbidden = ["setguard-uid-of-cache", "setguard-uid-of-agent", resource].into();
    });
    let ran = forbidding.run(&["--cluster-reports", "auto"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("reports cannot be written to the cluster: 403"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("not everything could be read"), "{}", ran.stdout);
}

#[test]
fn metrics_are_written_unless_the_audit_fails() {
    let cluster = mixed();
    let path = cluster.folder.0.path().join("setguard.prom");
    let args = ["--metrics-file", "setguard.prom"];
    assert_eq!(cluster.run(&args).code, 1);
    let text = fs::read_to_string(&path).unwrap();
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
    };
    let findings = |rule: &str, severity: &str| {
        value(&format!("setguard_audit_findings{{rule=\"{rule}\",severity=\"{severity}\"}}"))
    };
    assert_eq!(findings("partition-covers-all", "error"), 1.0);
    assert_eq!(findings("history-limit-zero", "warning"), 1.0);
    assert_eq!(findings("selector-overlap", "warning"), 0.0);
    assert!(!text.contains("surge-host-port"), "it is off");
    assert_eq!(value("setguard_audit_objects"), 5.0);
    assert!(value("setguard_audit_duration_seconds") > 0.0);
    assert!(value("setguard_audit_last_success_timestamp_seconds") > 1.7e9);

    cluster.api_server.change(|world| world.garbage = Some("<html>".to_owned()));
    assert_eq!(cluster.run(&args).code, 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn as_a_plugin_its_usage_says_kubectl() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-setguard");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_setguard"), &plugin).unwrap();
    let output = std::process::Command::new(&plugin).args(["audit", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Usage: kubectl setguard audit [OPTIONS]"), "{help}");
}
