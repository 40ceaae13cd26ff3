//! The findings of `check` that need several objects of its input.

use std::{fs, process::Command};

use serde_json::Value;
use setguard_testing::recorded::snapshot;
use tempfile::TempDir;

use crate::{json_schema, support};

/// A DaemonSet. Two of them select each other's pods.
fn agent(name: &str, more: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {name}
{more}spec:
  selector:
    matchLabels: {{app: agent}}
  template:
    metadata:
      labels: {{app: agent}}
    spec:
      tolerations:
        - {{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}}
      containers:
        - name: agent
          image: registry.example.com/agent:1.4.2
          readinessProbe:
            httpGet: {{port: 80, path: /ready}}
"
    )
}

const POLICY: &str = "apiVersion: setguard.io/v1alpha1\nkind: Policy\n";

struct Folder(TempDir);

impl Folder {
    fn new<'a>(files: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Folder(folder)
    }

    /// Exit code and standard output of `check`.
    fn check(&self, args: &[&str], stdin: &str) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
        command.arg("check").args(args).current_dir(self.0.path()).env_clear();
        let output = support::feed(&mut command, stdin.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    fn json(&self, args: &[&str]) -> (i32, Value) {
        let (code, text) = self.check(&[args, &["--format", "json"]].concat(), "");
        (code, json_schema::report(&text))
    }
}

#[test]
fn a_finding_comes_after_the_last_document_with_its_place() {
    let folder = Folder::new([
        ("deploy/a.yaml", format!("{}---\n{}", agent("one", ""), agent("two", ""))),
        ("deploy/b.yaml", format!("# the third\n{}", agent("three", "  x: 1\n"))),
    ]);
    let (code, text) = folder.check(&["deploy"], "");
    assert_eq!(code, 1);
    snapshot("cross_object/a_finding_comes_after_the_last_document_with_its_place", &text);
    let (_, report) = folder.json(&["deploy"]);
    let findings = report["findings"].as_array().unwrap();
    let found: Vec<_> = findings
        .iter()
        .map(|f| format!("{} {}:{} {}", f["rule"], f["file"], f["line"], f["object"]["name"]))
        .map(|line| line.replace('"', ""))
        .collect();
    let expected = [
        "schema deploy/b.yaml:6 three",
        "selector-overlap deploy/a.yaml:25 two",
        "selector-overlap deploy/b.yaml:8 three",
    ];
    assert_eq!(found, expected);
    // An object that is denied does not count as warned too.
    assert_eq!(report["summary"]["denied"], 1);
    assert_eq!(report["summary"]["warned"], 1);
}

#[test]
fn findings_in_standard_input_and_lists_have_their_lines() {
    let item = |text: String| {
        let lines = text.lines().enumerate();
        let lines = lines.map(|(i, l)| format!("{}{l}\n", if i == 0 { "- " } else { "  " }));
        lines.collect::<String>()
    };
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n{}{}",
        item(agent("one", "")),
        item(agent("two", ""))
    );
    let (code, text) = Folder::new([]).check(&["-"], &list);
    assert_eq!(code, 0);
    assert!(text.contains("DaemonSet one (<stdin>:4)"), "{text}");
    assert!(text.contains("--> <stdin>:27:5\n"), "{text}");
    assert!(text.contains("27 |     selector:\n"), "{text}");
    assert!(text.ends_with("2 objects checked in 1 file: 0 denied, 1 warned\n"), "{text}");
}

#[test]
fn a_list_of_services_counts_as_services() {
    let services = "{\"apiVersion\": \"v1\", \"kind\": \"ServiceList\", \"items\": [\
                    {\"metadata\": {\"name\": \"other\"}, \"spec\": {\"clusterIP\": \"None\"}}]}";
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  \
               serviceName: db\n  replicas: 2\n  podManagementPolicy: Parallel\n  \
               selector: {matchLabels: {app: db}}\n  template:\n    \
               metadata: {labels: {app: db}}\n    spec:\n      containers: [{name: db, image: db, \
               args: [--join=db-0.db], readinessProbe: {tcpSocket: {port: 1}}}]\n";
    let folder = Folder::new([("set.yaml", set.into()), ("services.json", services.into())]);
    let (_, report) = folder.json(&["set.yaml", "services.json"]);
    assert_eq!(report["findings"][0]["rule"], "service-missing", "{report}");
    let (_, alone) = folder.json(&["set.yaml"]);
    assert_eq!(alone["findings"].as_array().unwrap().len(), 0, "{alone}");
}

#[test]
fn the_level_of_a_namespace_counts_wherever_the_namespace_is() {
    let label = "pod-security.kubernetes.io/enforce";
    let namespace = |level: &str| {
        let metadata = format!("{{name: default, labels: {{{label}: {level}}}}}");
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {metadata}\n")
    };
    let folder = Folder::new([
        ("agent.yaml", agent("one", "")),
        ("restricted.yaml", namespace("restricted")),
        ("privileged.yaml", namespace("privileged")),
    ]);
    let found = |level: &str| {
        let (_, report) = folder.json(&["agent.yaml", level]);
        let findings = report["findings"].as_array().unwrap();
        findings
            .iter()
            .map(|found| format!("{} {}", found["rule"], found["line"]))
            .collect::<Vec<_>>()
    };
    // The finding is reported for the pod's spec, in line 11.
    assert_eq!(found("restricted.yaml"), ["\"pods-refused-by-pod-security\" 11"]);
    assert_eq!(found("privileged.yaml"), Vec::<String>::new());
}

#[test]
fn policy_annotation_and_flags_apply() {
    let exception = "exceptions:\n- rules: [selector-overlap]\n  names: [two]\n  reason: known\n";
    let ignore = "  annotations: {setguard.io/ignore: selector-overlap}\n";
    let folder = Folder::new([
        ("a.yaml", format!("{}---\n{}", agent("one", ""), agent("two", ""))),
        ("let-off.yaml", format!("{}---\n{}", agent("one", ""), agent("two", ignore))),
        ("off.yml", format!("{POLICY}rules: {{selector-overlap: off}}\n")),
        ("deny.yml", format!("{POLICY}rules: {{selector-overlap: deny}}\n")),
        ("excepted.yml", format!("{POLICY}{exception}")),
        ("expired.yml", format!("{POLICY}{exception}  expires: 2020-01-01\n")),
    ]);
    let severities = |args: &[&str]| {
        let (code, report) = folder.json(args);
        let findings = report["findings"].as_array().unwrap();
        let all: Vec<_> = findings.iter().map(|f| f["severity"].as_str().unwrap()).collect();
        (code, all.join(" "))
    };
    let is = |code, text: &str| (code, text.to_owned());
    assert_eq!(severities(&["a.yaml"]), is(0, "warning"));
    assert_eq!(severities(&["a.yaml", "--deny-warnings"]), is(1, "error"));
    assert_eq!(severities(&["a.yaml", "--policy", "off.yml"]), is(0, ""));
    assert_eq!(severities(&["a.yaml", "--policy", "deny.yml"]), is(1, "error"));
    assert_eq!(severities(&["a.yaml", "--policy", "excepted.yml"]), is(0, "note"));
    assert_eq!(severities(&["a.yaml", "--policy", "expired.yml"]), is(0, "warning"));
    assert_eq!(severities(&["let-off.yaml"]), is(0, "note"));
    assert_eq!(severities(&["let-off.yaml", "--policy", "deny.yml"]), is(1, "error"));
    // A finding in the old objects too stays a warning.
    let before = ["a.yaml", "--policy", "deny.yml", "--against", "a.yaml"];
    assert_eq!(severities(&before), is(0, "warning"));
    let (_, report) = folder.json(&["a.yaml", "--policy", "expired.yml"]);
    assert_eq!(report["remarks"][0]["object"]["name"], "two", "{report}");
}

#[test]
fn the_examples_are_found_whichever_object_comes_first() {
    for rule in setguard::rules::cross_object() {
        let (mut objects, before) = support::changes(support::to_json(rule.meta.bad));
        objects.reverse();
        let policy = setguard::policy::Policy::default();
        let found = support::evaluate_change(&objects, &before, &policy);
        let found: Vec<_> = found.into_iter().map(|found| found.rule).collect();
        assert_eq!(found, [rule.meta.id]);
    }
}
