//! `setguard audit` of a real cluster: stored objects, rights, and reports.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

use super::Case;
use crate::{
    harness::{control_plane::ADMIN_TOKEN, process::eventually},
    manifests::stateful_set,
    namespace::Namespace,
};

pub(super) const CASES: &[Case] = &[
    Case::new("an-audit-reports-in-the-cluster", reports),
    Case::new("an-audit-needs-the-documented-rights", rights),
];

/// The environment variable for a file with the real CRDs of OpenReports. Without it, the test uses a CRD that accepts
/// anything.
const CRDS: &str = "SETGUARD_REPORT_CRDS";

fn audit(namespace: &Namespace<'_>, kubeconfig: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    command.args(["audit", "-n", namespace.name]).args(args).env("KUBECONFIG", kubeconfig);
    command.output().unwrap()
}

fn findings(namespace: &Namespace<'_>, args: &[&str]) -> Vec<String> {
    let kubeconfig = &namespace.control_plane.kubectl.kubeconfig;
    let output = audit(namespace, kubeconfig, &[&["--format=json"], args].concat());
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let one = |finding: &Value| {
        let [rule, name] = [&finding["rule"], &finding["object"]["name"]];
        format!("{} {}", rule.as_str().unwrap(), name.as_str().unwrap())
    };
    report["findings"].as_array().unwrap().iter().map(one).collect()
}

fn set(name: &str) -> Value {
    let mut set = stateful_set(name);
    set["spec"]["replicas"] = json!(0);
    set
}

fn reports(namespace: &Namespace<'_>) {
    install_crds(namespace);
    let stored = || {
        let list = namespace.kubectl(&["get", "reports.openreports.io", "-o", "json"], "").json();
        let items = list["items"].as_array().unwrap().clone();
        let one = |item: &Value| {
            let name = item["scope"]["name"].as_str().unwrap().to_owned();
            (name, item["metadata"]["resourceVersion"].as_str().unwrap().to_owned())
        };
        items.iter().map(one).collect::<Vec<_>>()
    };
    let auto = ["--cluster-reports=auto"];
    namespace.apply(&set("db")).accepted();
    assert_eq!(findings(namespace, &auto), [""; 0], "as the API server stores it");
    assert_eq!(stored(), []);

    namespace.apply(&set("cache")).accepted();
    let both = ["selector-overlap cache", "selector-overlap db"];
    assert_eq!(findings(namespace, &[]), both);
    assert_eq!(stored(), [], "no reports were requested");
    assert_eq!(findings(namespace, &auto), both);
    let first = stored();
    let mut names: Vec<_> = first.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["cache", "db"]);
    assert_eq!(findings(namespace, &auto), both);
    assert_eq!(stored(), first, "nothing has changed");

    // Garbage collection does not run here, so the audit itself removes the report of a deleted object.
    namespace.kubectl(&["delete", "statefulset", "cache"], "").accepted();
    assert_eq!(findings(namespace, &auto), [""; 0]);
    assert_eq!(stored(), []);
}

fn install_crds(namespace: &Namespace<'_>) {
    let stand_in = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "reports.openreports.io"},
        "spec": {
            "group": "openreports.io", "scope": "Namespaced",
            "names": {"kind": "Report", "listKind": "ReportList", "plural": "reports",
                "singular": "report"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }}],
        },
    });
    let text = match env::var_os(CRDS) {
        Some(file) => fs::read_to_string(file).expect("the CRDs"),
        None => stand_in.to_string(),
    };
    let kubectl = &namespace.control_plane.kubectl;
    kubectl.run(&["apply", "--server-side", "-f", "-"], &text).accepted();
    eventually("the reports to be served", || {
        let output = namespace.kubectl(&["get", "reports.openreports.io"], "");
        if output.success { Ok(()) } else { Err(output) }
    });
}

/// With exactly the rights in examples/rollouts/audit-rbac.yaml, the audit has no note about unreadable objects.
fn rights(namespace: &Namespace<'_>) {
    namespace.apply(&set("db")).accepted();
    let kubeconfig = auditor(namespace);
    let output = audit(namespace, &kubeconfig, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("neither DaemonSets nor StatefulSets can be read\n"), "{said}");

    let rules = include_str!("../../../examples/rollouts/audit-rbac.yaml");
    let kubectl = &namespace.control_plane.kubectl;
    kubectl.run(&["apply", "-f", "-"], rules).accepted();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace.name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "setguard-audit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "auditor"}],
    });
    kubectl.run(&["apply", "-f", "-"], &binding.to_string()).accepted();
    eventually("the rights to be known", || {
        let output = audit(namespace, &kubeconfig, &["--strict"]);
        let is_quiet = output.status.code() == Some(0) && output.stderr.is_empty();
        if is_quiet { Ok(()) } else { Err(format!("{output:?}")) }
    });
    let text = audit(namespace, &kubeconfig, &[]).stdout;
    // No kubelet makes its pods ready.
    let end = "healthy: 0 DaemonSets, 0 StatefulSets; not settled: 1 set\n";
    let text = String::from_utf8_lossy(&text);
    assert!(text.ends_with(end), "{text}");
}

fn auditor(namespace: &Namespace<'_>) -> PathBuf {
    let path = namespace.control_plane.kubeconfig("auditor", ADMIN_TOKEN);
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config["users"][0]["user"]["as"] = json!("auditor");
    fs::write(&path, config.to_string()).unwrap();
    path
}
