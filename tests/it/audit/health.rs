//! Sets that are not healthy, and how findings about them are shown.

use serde_json::json;

use super::{COVERED, Cluster, covered, stored, waiting};

#[test]
fn a_controller_that_observes_nothing_is_one_error() {
    let cluster = Cluster::audited();
    for name in ["a", "b", "c"] {
        let mut unobserved = stored("StatefulSet", "shop", name);
        unobserved["metadata"]["generation"] = json!(2);
        cluster.has("statefulsets", &unobserved);
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

#[test]
fn a_set_without_a_ready_pod_comes_first_and_is_an_error() {
    let cluster = Cluster::audited().rules(&[("partition-covers-all", "deny")], "");
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
    assert_eq!(ready["cause"], "the cause is not known");
    assert_eq!(ready["since"], "2026-11-20T10:00:00Z");
    assert_eq!(ready["commands"][0]["run"], "kubectl describe -n shop statefulset/down");
    assert_eq!(report["findings"][2]["reason"], "FieldValueInvalid");
    assert_eq!((&ready["ready"], &ready["wanted"]), (&json!(0), &json!(2)));
    assert!(cluster.run(&[]).stdout.contains("in: StatefulSet shop/down, 0 of 2 pods ready\n"));
}

#[test]
fn equal_findings_are_one_in_text_and_all_in_json() {
    let cluster = Cluster::audited().rules(COVERED, "");
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
    assert_eq!(count("40 errors, 4 warnings in 44 of 44 objects\n"), 1);
    assert_eq!(cluster.findings(1, &[]).len(), 44);
}
