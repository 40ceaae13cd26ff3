//! `setguard audit` of a real cluster: stored objects, rights, and reports.

use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::new("an-audit-reports-in-the-cluster", reports),
    Case::new("an-audit-needs-the-documented-rights", rights),
];

/// The environment variable for a file with the real CRDs of OpenReports. Without it, the test uses a CRD that accepts
/// anything.
const CRDS: &str = "SETGUARD_REPORT_CRDS";

fn audit(namespace: &Namespace<'_>, kubeconfig: &Path, args: &[&str]) -> Output {
    setguard(kubeconfig, &[&["audit", "-n", namespace.name], args].concat())
}

fn findings(namespace: &Namespace<'_>, args: &[&str]) -> Vec<String> {
    let kubeconfig = &namespace.control_plane.kubectl.kubeconfig;
    let output = audit(namespace, kubeconfig, &[&["--format=json"], args].concat());
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output}"));
    assert_eq!(output.stderr, "");
    let one = |finding: &Value| {
        let [rule, name] = [&finding["rule"], &finding["object"]["name"]];
        format!("{} {}", rule.as_str().unwrap(), name.as_str().unwrap())
    };
    report["findings"].as_array().unwrap().iter().map(one).collect()
}

fn set(name: &str) -> Value {
    with(stateful_set(name), &json!({ "replicas": 0 }))
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
    let get = || namespace.kubectl(&["get", "reports.openreports.io"], "");
    becomes("the reports to be served", get, |output| output.success);
}

/// With exactly the rights in examples/rollouts/audit-rbac.yaml, the audit has no note about unreadable objects.
fn rights(namespace: &Namespace<'_>) {
    namespace.apply(&set("db")).accepted();
    let kubeconfig = namespace.kubeconfig_as("auditor");
    audit(namespace, &kubeconfig, &[])
        .refused(&["neither DaemonSets nor StatefulSets can be read\n"]);

    let rules = include_str!("../../../examples/rollouts/audit-rbac.yaml");
    let kubectl = &namespace.control_plane.kubectl;
    kubectl.run(&["apply", "-f", "-"], rules).accepted();
    namespace.bind("ClusterRole", "setguard-audit", "auditor");
    let ask = || audit(namespace, &kubeconfig, &["--strict"]);
    becomes("the rights to be known", ask, |output| output.success && output.stderr.is_empty());
    let text = audit(namespace, &kubeconfig, &[]).stdout;
    // No kubelet makes its pods ready.
    let end = "healthy: 0 DaemonSets, 0 StatefulSets; not settled: 1 set\n";
    assert!(text.ends_with(end), "{text}");
}
