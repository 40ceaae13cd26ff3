//! DaemonSets with the control-plane label, their own or their Namespace's: `check` evaluates them
//! as they are after injection, and `inject` prints the result.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support;

const LABEL: &str = "setguard.io/control-plane: \"true\"";

/// A node agent that `control-plane-not-tolerated` reports if it lacks the label.
fn daemon_set(labels: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent, namespace: ops, labels: {{{labels}}}}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  updateStrategy: {{type: OnDelete}}
  template:
    metadata: {{labels: {{app: agent}}}}
    spec:
      volumes: [{{name: logs, hostPath: {{path: /var/log}}}}]
      containers: [{{name: agent, image: example.com/agent:1}}]
"
    )
}

fn namespace(labels: &str) -> String {
    format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: ops, labels: {{{labels}}}}}\n")
}

fn run(folder: &Path, args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    support::feed(command.args(args).current_dir(folder), stdin.as_bytes())
}

/// The rules and severities of the findings about the control plane or about a changed template.
fn found(folder: &Path, args: &[&str], stdin: &str) -> Vec<(String, String)> {
    let output = run(folder, &[&["check", "--format=json"], args].concat(), stdin);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    let pairs = findings.map(|finding| (text(finding, "rule"), text(finding, "severity")));
    pairs.filter(|(rule, _)| rule.contains("control-plane") || rule == "on-delete-change").collect()
}

fn note(rule: &str) -> Vec<(String, String)> {
    vec![(rule.to_owned(), "note".to_owned())]
}

#[test]
fn check_evaluates_a_labelled_daemon_set_as_it_is_after_injection() {
    let folder = tempfile::tempdir().unwrap();
    let found = |text: &str| found(folder.path(), &["-"], text);
    assert_eq!(found(&daemon_set("")), note("control-plane-not-tolerated"));
    assert_eq!(found(&daemon_set(LABEL)), note("control-plane-injection"));
    // The Namespace may come later, even on standard input, which can be read only once.
    let later = format!("{}---\n{}", daemon_set(""), namespace(LABEL));
    assert_eq!(found(&later), note("control-plane-injection"));
    let silent = format!("{}---\n{}", daemon_set(""), namespace(""));
    assert_eq!(found(&silent), note("control-plane-not-tolerated"));
}

#[test]
fn a_namespace_in_another_file_counts() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), daemon_set("")).unwrap();
    let list =
        format!("apiVersion: v1\nkind: List\nitems:\n- {}", namespace(LABEL).replace('\n', "\n  "));
    fs::write(folder.path().join("b.yaml"), list).unwrap();
    assert_eq!(found(folder.path(), &["."], ""), note("control-plane-injection"));
    let printed = run(folder.path(), &["inject", "a.yaml", "b.yaml"], "");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains("node-role.kubernetes.io/control-plane"), "{printed}");
}

/// Injection applies to the old object too, so it does not count as a change of the template.
#[test]
fn against_compares_the_templates_after_injection() {
    let folder = tempfile::tempdir().unwrap();
    let with_namespace = format!("{}---\n{}", daemon_set(""), namespace(LABEL));
    fs::write(folder.path().join("label.yaml"), daemon_set(LABEL)).unwrap();
    fs::write(folder.path().join("namespace.yaml"), with_namespace).unwrap();
    fs::write(folder.path().join("none.yaml"), daemon_set("")).unwrap();
    let against = |old: &str| {
        let found = found(folder.path(), &["label.yaml", "--against", old], "");
        found.iter().any(|(rule, _)| rule == "on-delete-change")
    };
    assert!(!against("label.yaml"));
    assert!(!against("namespace.yaml"));
    assert!(against("none.yaml"), "adding the label changes the template");
}
