//! Unhealthy sets, and the presentation of their findings.

use super::{COVERED, Cluster, covered, stored, waiting};
use crate::prelude::*;
use crate::wait;

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
    // The other sets have no finding of their own, but are not healthy.
    let healthy = json!({"daemonSets": 0, "statefulSets": 1, "notSettled": 2});
    assert_eq!(report["summary"]["healthy"], healthy);
    assert!(cluster.run(&[]).stdout.contains("; not settled: 2 sets\n"));
    // A recent change is no finding.
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
    assert_eq!(ready["cause"], "the cause is unknown");
    assert_eq!(ready["since"], "2026-11-20T10:00:00Z");
    assert_eq!(ready["commands"][0]["run"], "kubectl describe -n shop statefulset/down");
    assert_eq!(report["findings"][2]["reason"], "FieldValueInvalid");
    assert_eq!((&ready["ready"], &ready["wanted"]), (&json!(0), &json!(2)));
    assert!(
        cluster
            .run(&[])
            .stdout
            .contains("in: StatefulSet shop/down, 0 of 2 pods ready, since 2026-11-20")
    );
}

#[test]
fn equal_findings_are_one_in_text_and_all_in_json() {
    let cluster = Cluster::audited().rules(COVERED, "");
    for i in 0..40 {
        cluster.has("statefulsets", &covered(["bank", "shop"][i % 2], &format!("db-{i:02}")));
    }
    for i in 0..4 {
        let mut careless = stored("DaemonSet", "shop", &format!("agent-{i}"));
        careless["spec"]["revisionHistoryLimit"] = json!(0);
        cluster.has("daemonsets", &careless);
    }
    let ran = cluster.run(&[]);
    let count = |text: &str| ran.stdout.matches(text).count();
    assert_eq!(count("error[partition-covers-all]"), 1, "{}", ran.stdout);
    assert_eq!(count("warning[history-limit-zero]"), 4);
    // An error names all its objects.
    let names = "in: 40 objects: StatefulSet shop/db-01, StatefulSet shop/db-03, StatefulSet \
                 shop/db-05, StatefulSet shop/db-07, StatefulSet shop/db-09, StatefulSet shop/db-11, ";
    assert_eq!(count(names), 1, "{}", ran.stdout);
    assert_eq!(count("StatefulSet bank/db-38\n"), 1, "{}", ran.stdout);
    assert_eq!(count("40 errors, 4 warnings in 44 of 44 objects\n"), 1);
    assert_eq!(cluster.findings(1, &[]).len(), 44);
}

fn pod_of(set: &str, ordinal: u8, revision: &str, is_ready: bool) -> Value {
    let reason = if is_ready { "" } else { "ImagePullBackOff" };
    wait::pod(&format!("{set}-{ordinal}"), revision, reason, "db:2: not found")
}

/// Adds a set with the revisions `1a` and `2b`. Its last pod is broken.
fn add_updating(cluster: &Cluster, name: &str, broken: &str, policy: &str) {
    let mut set = waiting(name, 1);
    set["spec"]["podManagementPolicy"] = json!(policy);
    set["status"]["currentRevision"] = json!(format!("{name}-1a"));
    set["status"]["updateRevision"] = json!(format!("{name}-2b"));
    set["status"]["updatedReplicas"] = json!(i32::from(broken == "2b"));
    cluster.has("statefulsets", &set);
    cluster.has("pods", &pod_of(name, 0, &format!("{name}-1a"), true));
    cluster.has("pods", &pod_of(name, 1, &format!("{name}-{broken}"), false));
    for (revision, number, image) in [("1a", 1, "db:1"), ("2b", 2, "db:2")] {
        let containers = json!([{"name": "main", "image": image}]);
        let template = json!({"$patch": "replace", "spec": {"containers": containers}});
        let of = json!({"spec": {"template": template}});
        let revision = wait::revision(name, &format!("{name}-{revision}"), number, &of);
        cluster.has("controllerrevisions", &revision);
    }
}

/// The reader of a folded finding runs its commands for all sets.
#[test]
fn sets_that_need_other_commands_are_not_folded() {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("nodes", &json!({"metadata": {"name": "n0"}}));
    add_updating(&cluster, "undo", "2b", "Parallel");
    for name in ["a", "b", "c", "scaled"] {
        add_updating(&cluster, name, "1a", "OrderedReady");
    }
    // A warning about a set whose error is folded comes after the errors of other sets.
    let mut careless = cluster.api_server.get("statefulsets", "shop", "a").unwrap();
    careless["spec"]["revisionHistoryLimit"] = json!(0);
    cluster.has("statefulsets", &careless);
    cluster.has("pods", &pod_of("scaled", 2, "scaled-1a", true));
    let text = cluster.run(&[]).ends(1).stdout;
    let (folded, alone) = text.split_once("\nnamespace shop\n").unwrap();
    let named = "in: 3 objects: StatefulSet shop/a, StatefulSet shop/b, StatefulSet shop/c, since";
    assert!(folded.contains(named), "{text}");
    assert!(folded.contains("kubectl delete pod -n shop a-1\n"), "{text}");
    assert!(folded.contains("; for the others likewise"), "{text}");
    assert!(!folded.contains("rollout undo"), "{text}");
    let warning = alone.find("[history-limit-zero]").unwrap();
    assert!(alone.rfind("error[").unwrap() < warning, "{text}");
    assert!(
        alone.contains("kubectl rollout undo -n shop statefulset/undo --to-revision=1\n"),
        "{text}"
    );
    assert!(
        alone.contains(
            "2 pods): it comes back with the new template; the scale-down of scaled-2 then goes on"
        ),
        "{text}"
    );
}

#[test]
fn a_stuck_rollout_has_its_cause_in_the_title_and_what_it_changed() {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("nodes", &json!({"metadata": {"name": "n0"}}));
    add_updating(&cluster, "db", "2b", "OrderedReady");
    // Next to that, the partition is harmless.
    cluster.has("statefulsets", &covered("shop", "a"));
    let ran = cluster.run(&[]).ends(1);
    let (totals, rest) = ran.stdout.split_once("\n\n").unwrap();
    assert!(totals.starts_with("2 errors"), "{}", ran.stdout);
    let title = "error[rollout-stuck-at-ordinal]: db-1 is not ready: ImagePullBackOff: container main: db:2: not found\n";
    assert!(rest.starts_with(&format!("namespace shop\n\n{title}")), "{}", ran.stdout);
    let changed = "= changed: spec.template.spec.containers[main].image: db:1 → db:2\n";
    assert!(rest.contains(changed), "{}", ran.stdout);
    let finding = &cluster.json(1, &[])["findings"][0];
    let image = "spec.template.spec.containers[main].image";
    let changes = json!([{"field": image, "old": "db:1", "new": "db:2"}]);
    assert_eq!(finding["changes"], changes);
    // A pod of OnDelete is replaced by hand.
    let mut by_hand = cluster.api_server.get("statefulsets", "shop", "db").unwrap();
    by_hand["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    cluster.has("statefulsets", &by_hand);
    let report = cluster.json(1, &[]);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().any(|it| it["changes"] == changes), "{report:#}");
}

#[test]
fn dead_nodes_are_one_block() {
    let cluster = Cluster::audited();
    let mut set = waiting("agent", 0);
    set["kind"] = json!("DaemonSet");
    set["status"] = json!({
        "observedGeneration": 1, "desiredNumberScheduled": 6, "currentNumberScheduled": 6,
        "numberReady": 0, "numberMisscheduled": 0,
    });
    cluster.has("daemonsets", &set);
    for i in 0..6 {
        let condition = json!({
            "type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-20T10:00:00Z",
            "message": "Kubelet stopped posting node status.",
        });
        let name = format!("n{i}");
        cluster.has(
            "nodes",
            &json!({"metadata": {"name": name}, "status": {"conditions": [condition]}}),
        );
        let mut pod = pod_of("agent", i, "a", false);
        pod["metadata"]["ownerReferences"][0]["kind"] = json!("DaemonSet");
        pod["spec"]["nodeName"] = json!(name);
        cluster.has("pods", &pod);
    }
    let text = cluster.run(&[]).stdout;
    assert_eq!(text.matches("[node-down]").count(), 1, "{text}");
    // Faults of the cluster come before those of namespaces.
    cluster.has("statefulsets", &waiting("down", 0));
    let text = cluster.run(&[]).stdout;
    assert!(text.find("[node-down]") < text.find("error["), "{text}");
    let names = "= in: 6 objects: Node n0, Node n1, Node n2, Node n3, Node n4 and 1 more, since 2026-11-20 10:00 UTC";
    assert!(text.contains(names), "{text}");
    let found = cluster.json(1, &[]);
    let found = found["findings"].as_array().unwrap().iter().filter(|it| it["rule"] == "node-down");
    assert_eq!(found.count(), 6);
}
