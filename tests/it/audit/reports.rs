//! The reports that an audit writes into the cluster, and its metrics.

use super::{Cluster, mixed, stored};
use crate::prelude::*;

const OPEN_REPORTS: (&str, &str) = ("openreports.io/v1alpha1", "reports");

const POLICY_REPORTS: (&str, &str) = ("wgpolicyk8s.io/v1alpha2", "policyreports");

fn report(cluster: &Cluster, resource: &str, uid: &str) -> Option<Value> {
    let mut report = cluster.api_server.get(resource, "shop", &format!("setguard-{uid}"))?;
    report["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    Some(report)
}

#[test]
fn reports_are_written_in_each_run_and_removed_when_nothing_is_found() {
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
    let whole = report(&cluster, resource, "uid-of-cache").unwrap();
    snapshot(
        "audit/reports_are_written_in_each_run_and_removed_when_nothing_is_found",
        &format!("{whole:#}"),
    );
    // A different client empties a report.
    let mut forged = whole.clone();
    forged["results"] = json!([]);
    cluster.has(resource, &forged);
    assert_eq!(writes(&auto), written);
    assert_eq!(report(&cluster, resource, "uid-of-cache").unwrap()["results"], whole["results"]);

    cluster.has("statefulsets", &stored("StatefulSet", "shop", "cache"));
    assert_eq!(writes(&["--cluster-reports", "auto", "-n", "bank"]), [""; 0], "another namespace");
    cluster.api_server.change(|world| world.forbidden = ["statefulsets"].into());
    cluster.run(&auto).ends(0);
    assert!(report(&cluster, resource, "uid-of-cache").is_some(), "it could not be read");
    cluster.api_server.change(|world| world.forbidden.clear());
    assert_eq!(writes(&auto), [format!("DELETE {}?", path("cache")), written[0].clone()]);
}

#[test]
fn reports_are_those_that_the_cluster_has() {
    let cluster = mixed();
    let ran = cluster.run(&["--cluster-reports", "auto"]).ends(1);
    assert!(ran.stderr.starts_with("note: no reports are written: the cluster"), "{}", ran.stderr);
    let ran = cluster.run(&["--cluster-reports", "openreports"]).ends(2);
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
    forbidding
        .run(&["--cluster-reports", "auto"])
        .ends(2)
        .reports("reports cannot be written to the cluster: 403")
        .prints_no("not everything could be read");
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
