//! The requests of an audit, and its handling of failed answers.

use super::{COVERED, Cluster, covered, mixed, stored, unhealthy};
use crate::prelude::*;

#[test]
fn the_release_and_the_feature_gates_of_the_cluster_apply() {
    let ignored = [("max-unavailable-ignored", "warn")];
    let cluster = Cluster::audited().rules(&ignored, "");
    let mut set = stored("StatefulSet", "shop", "db");
    set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(2);
    cluster.has("statefulsets", &set);
    assert_eq!(cluster.findings(0, &[]), ["max-unavailable-ignored shop/db"]);
    let gate = "# HELP kubernetes_feature_enabled x\n\
        kubernetes_feature_enabled{name=\"MaxUnavailableStatefulSet\",stage=\"BETA\"} 1\n\
        process_cpu_seconds_total 1\n";
    cluster.api_server.change(|world| world.metrics = Some(gate.to_owned()));
    assert_eq!(cluster.findings(0, &[]), [""; 0]);
    // The user's release takes precedence.
    assert_eq!(cluster.findings(0, &["--kube-version", "1.36"]).len(), 1);
}

#[test]
fn what_may_not_be_read_is_named_once_and_the_rest_is_done() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.forbidden = ["nodes", "services"].into());
    let ran = cluster.run(&[]).ends(1).prints("partition-covers-all");
    let notes: Vec<_> = ran.stderr.lines().collect();
    let wanted = ["nodes", "services"].map(|kind| {
        format!("note: {kind} cannot be read, so the rules about them are silent: 403: you may not")
    });
    assert_eq!(notes, wanted);
    let report = cluster.json(1, &[]);
    assert_eq!(report["notes"].as_array().unwrap().len(), 2);
    assert_eq!(cluster.json(0, &["--exit-zero"])["findings"], report["findings"]);
    assert_eq!(cluster.run(&["--exit-zero", "--strict"]).code, 2, "this is no finding");
    let ran = cluster.run(&["--strict"]).ends(2);
    assert!(ran.stderr.starts_with("error: nodes cannot be read"), "{}", ran.stderr);
}

#[test]
fn what_may_not_be_read_is_not_taken_for_absent() {
    let missing = |forbidden: &[&'static str]| {
        let cluster = Cluster::audited();
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
fn lists_are_read_in_pages_and_two_at_a_time() {
    let cluster = Cluster::audited().rules(COVERED, "");
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
    let ran = cluster.run(&[]).ends(1);
    assert_eq!(ran.stderr, "note: throttled: the API server asks to wait\n");
}

#[test]
fn a_list_without_end_is_given_up() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.endless = Some(("services", true)));
    let ran = cluster.run(&[]).ends(2);
    let why = "services: the API server continues the list with the same token again";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn a_list_goes_on_when_its_version_is_gone() {
    for with_token in [true, false] {
        let cluster = Cluster::audited().rules(COVERED, "");
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
    let ran = cluster.run(&["-n", "nowhere", "-n", "bank"]).ends(2);
    assert_eq!(ran.stderr, "error: there is no namespace nowhere\n");
    cluster.run(&["-n", "../../secrets"]).ends(2).reports("is not the name of a namespace");
}

#[test]
fn claims_are_read_only_where_they_decide() {
    let shared = [("shared-volume", "warn")];
    let cluster = Cluster::audited().rules(&shared, "");
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
fn a_cluster_that_does_not_answer_is_a_failure() {
    let cluster = Cluster::audited();
    cluster.api_server.change(|world| world.garbage = Some("<html>".to_owned()));
    let ran = cluster.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("error: neither DaemonSets nor StatefulSets"), "{}", ran.stderr);
}
