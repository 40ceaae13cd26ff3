//! Exceptions that name files: each team of a repository has its own.

use setguard::policy::Policy;

use crate::{
    folder::{Folder, on_delete},
    support,
};

const RULE: &str = "on-delete-ignores-rolling-update";

fn policy(files: &str) -> String {
    format!(
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nexceptions:\n- files: {files}\n  \
         rules: [{RULE}, selector-overlap]\n  reason: agreed\n"
    )
}

/// The file and severity of each finding.
fn found(folder: &Folder, args: &str) -> Vec<(String, String)> {
    let (_, report) = folder.json(args);
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    findings.map(|it| (text(&it["file"]), text(&it["severity"]))).collect()
}

fn pair(file: &str, severity: &str) -> (String, String) {
    (file.to_owned(), severity.to_owned())
}

#[test]
fn an_exception_exempts_the_files_that_it_names() {
    let manifest = on_delete("agent", "");
    let files = ["a/x.yaml", "a/deep/y.yaml", "b/x.yaml"];
    let folder = Folder::new(files.map(|file| (file, &*manifest)));
    folder.write("setguard.yaml", policy("[a/, \"!a/deep/\"]"));
    folder.write(".git/HEAD", "");
    let mut all = found(&folder, ".");
    all.sort();
    let expected = [
        pair("./a/deep/y.yaml", "warning"),
        pair("./a/x.yaml", "note"),
        pair("./b/x.yaml", "warning"),
    ];
    assert_eq!(all, expected);
    assert_eq!(found(&folder, "a/x.yaml"), [pair("a/x.yaml", "note")]);
    // Another spelling of the path doesn't matter.
    assert_eq!(found(&folder, "b/../a/x.yaml")[0].1, "note");
    // A rendered stream is named after its origin.
    let args = ["check", "-", "--format", "json", "--stdin-path", "a/x.yaml"];
    folder.feed(&args, &manifest).prints("\"severity\": \"note\"");
    folder.feed(&args[..4], &manifest).prints("\"severity\": \"warning\"");
}

#[test]
fn an_exception_is_about_the_object_that_is_reported() {
    let one = on_delete("agent", "");
    let folder = Folder::new([
        ("one.yaml", one.as_str()),
        ("two.yaml", &one.replacen("name: agent", "name: other", 1)),
    ]);
    let overlaps = |folder: &Folder| {
        let args = "one.yaml two.yaml --select selector-overlap";
        found(folder, args).into_iter().map(|(_, severity)| severity).collect::<Vec<_>>()
    };
    folder.write(".git/HEAD", "");
    folder.write("setguard.yaml", policy("[three.yaml]"));
    let without = overlaps(&folder);
    assert!(!without.is_empty() && !without.contains(&"note".to_owned()), "{without:?}");
    folder.write("setguard.yaml", policy("[one.yaml, two.yaml]"));
    let exempt = overlaps(&folder);
    assert!(exempt.iter().all(|it| it == "note"), "{exempt:?}");
}

#[test]
fn objects_of_a_cluster_have_no_file_and_no_such_exception() {
    let policy = Policy::parse(&policy("[\"**\"]")).unwrap();
    let json = &support::to_json(&on_delete("agent", ""))[0];
    let found = support::evaluate_update(&policy, json, json);
    let found: Vec<_> =
        found.iter().filter(|it| it.rule == RULE).map(|it| it.mode.as_str()).collect();
    assert_eq!(found, ["warn"]);
}

#[test]
fn a_pattern_that_is_none_is_an_error_with_its_place() {
    let problems = Policy::parse(&policy("[\"a/\", \"b/[z-a]\"]")).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].field.to_string(), "exceptions[0].files[1]");
    assert_eq!(problems[0].mark.line, 4);
}

#[test]
fn an_exception_for_more_files_is_weaker() {
    let parse = |files: &str| Policy::parse(&policy(files)).unwrap();
    let weaker =
        |now: &str, before: &str| !parse(now).weaker_than(&parse(before), "main").is_empty();
    assert!(weaker("[a, b]", "[a]"));
    assert!(weaker("[]", "[a]"));
    assert!(!weaker("[a]", "[a, b]"));
    assert!(!weaker("[a]", "[]"));
    // A pattern that takes back is gone, or comes before what it takes back.
    assert!(weaker("[a/]", "[a/, \"!a/deep/\"]"));
    assert!(weaker("[\"!a/deep/\", a/]", "[a/, \"!a/deep/\"]"));
    assert!(!weaker("[a/, \"!a/deep/\"]", "[a/, \"!a/deep/\"]"));
}

#[test]
fn the_labels_of_old_releases_are_only_noted_in_a_folder_for_one() {
    let set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n  \
               selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n    \
               spec:\n      nodeSelector: {node-role.kubernetes.io/master: \"\"}\n      \
               containers: [{name: main, image: \"agent:1\"}]\n";
    let folder = Folder::new([("releases/k8s-1.22/agent.yaml", set), ("deploy/agent.yaml", set)]);
    // Without a word for Kubernetes, the number is a release of the program.
    folder.write("releases/v1.9/agent.yaml", set);
    let ran = folder.setguard(&["check", "releases", "deploy", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let found = report["findings"].as_array().unwrap().iter();
    let found = found.filter(|it| it["rule"] == "legacy-node-label");
    let severities: std::collections::BTreeMap<_, _> =
        found.map(|it| (it["file"].as_str().unwrap(), &it["severity"])).collect();
    assert_eq!(severities["releases/k8s-1.22/agent.yaml"], "note");
    assert_eq!(severities["releases/v1.9/agent.yaml"], "warning");
    assert_eq!(severities["deploy/agent.yaml"], "warning");
}
