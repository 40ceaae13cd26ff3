//! The release and the feature gates of the cluster.

use super::Viewer;
use crate::folder;
use crate::prelude::*;

fn release(version: &str, source: &str) -> String {
    format!("setguard_kubernetes_release_info{{release=\"{version}\",source=\"{source}\"}} 1")
}

#[test]
fn objects_are_checked_against_the_release_of_the_cluster_unless_the_policy_names_one() {
    let api_server = ApiServer::start("34+");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.yaml");
    let policy = folder::policy("");
    std::fs::write(&file, &policy).unwrap();
    let args = ["--inventory", "workloads", "--policy", file.to_str().unwrap()];
    let viewer = Viewer::start(&api_server, &args);
    viewer.daemon.measured(&release("1.34", "cluster"));
    api_server.change(|world| world.minor = "35");
    viewer.daemon.measured(&release("1.35", "cluster"));
    // The message names a patch release that differs from later ones.
    api_server.change(|world| world.patch = "3");
    let patched = release("1.35", "cluster").replace('}', ",patch=\"3\"}");
    viewer.daemon.measured(&patched);
    api_server.change(|world| world.patch = "4");
    viewer.daemon.measured(&release("1.35", "cluster"));
    std::fs::write(&file, format!("{policy}kubernetes: {{version: \"1.36\"}}\n")).unwrap();
    viewer.daemon.measured(&release("1.36", "policy"));
    std::fs::write(&file, &policy).unwrap();
    viewer.daemon.measured(&release("1.35", "cluster"));

    let pinned =
        Viewer::start(&api_server, &["--inventory", "workloads", "--kube-version", "1.33"]);
    pinned.holds("DaemonSet", 0);
    pinned.daemon.measured(&release("1.33", "policy"));
    let blind = Viewer::start(&api_server, &[]);
    blind.daemon.measured(&release("1.37", "default"));
}

#[test]
fn while_a_control_plane_is_upgraded_the_oldest_release_counts() {
    let api_server = ApiServer::start("36");
    let viewer = Viewer::start(&api_server, &["--inventory", "workloads"]);
    viewer.daemon.measured(&release("1.36", "cluster"));
    assert!(ignored(&viewer), "1.36 drops the field");
    // Requests alternate between two API servers.
    let asked = || api_server.asked("/version");
    for round in 0..4 {
        let minor = if round % 2 == 0 { "37" } else { "36" };
        let before = asked();
        api_server.change(|world| world.minor = minor);
        eventually("another answer", || (asked() > before + 1).then_some(()));
        assert!(ignored(&viewer), "the older one still drops the field");
    }
    let warning = viewer.daemon.has_logged(
        "API servers of several releases answer, or one was upgraded a moment ago; objects are checked against \
         the oldest of them for some minutes",
    );
    assert_eq!(warning["fields"]["releases"], "v1.36.7, v1.37.7");
    api_server.change(|world| world.minor = "37");
    viewer.daemon.measured(&release("1.37", "cluster"));
    assert!(!ignored(&viewer));
}

/// The API server drops `maxUnavailable` in a StatefulSet if the feature gate is off.
fn ignored(viewer: &Viewer) -> bool {
    let mut review: Value = serde_json::from_str(&review("validate/statefulset-create")).unwrap();
    review["request"]["object"]["spec"]["updateStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}});
    review["request"]["object"]["spec"]["podManagementPolicy"] = "Parallel".into();
    viewer.review("/mutate", &review.to_string()).body.contains("max-unavailable-ignored")
}

#[test]
fn feature_gates_are_read_where_they_may_be() {
    let api_server = ApiServer::start("36");
    let gates = |on| {
        format!(
            "# TYPE kubernetes_feature_enabled gauge\n\
             kubernetes_feature_enabled{{name=\"MaxUnavailableStatefulSet\",stage=\"BETA\"}} {on}\n"
        )
    };
    let args = ["--inventory", "workloads", "--discover-feature-gates"];
    let viewer = Viewer::start(&api_server, &args);
    viewer.daemon.measured(&release("1.36", "cluster"));
    let denied = viewer.daemon.has_logged("cannot read the feature gates of the API server");
    assert_eq!(denied["level"], "WARN");
    assert!(ignored(&viewer), "off by default");
    api_server.change(|world| world.metrics = Some(gates(1)));
    eventually("the gate to be on", || (!ignored(&viewer)).then_some(()));
    api_server.change(|world| world.metrics = Some(gates(0)));
    eventually("the gate to be off", || ignored(&viewer).then_some(()));
}
