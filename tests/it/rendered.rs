//! Charts and kustomizations, and what they render to.

use crate::folder::{Folder, on_delete, rules};

#[test]
fn the_templates_of_a_chart_are_checked_if_they_are_manifests() {
    let folder = Folder::new([
        ("a.yaml", on_delete("agent", "").as_str()),
        ("chart/Chart.yaml", "apiVersion: v2\nname: chart\nkind: x\nmetadata: {}\n"),
        ("chart/values.yaml", "kind: a\nmetadata: {}\n"),
        ("chart/values-prod.yaml", "kind: a\nspec: {}\n"),
        ("chart/ci/a-values.yaml", "kind: a\nspec: {}\n"),
        ("chart/templates/ds.yaml", "{{ if .Values.a }}\nkind: DaemonSet\n"),
        ("chart/templates/static.yaml", &on_delete("d", "")),
        ("chart/charts/inner/Chart.yaml", "name: inner\n"),
        ("chart/charts/inner/templates/ds.yaml", "{{ if .Values.a }}\n"),
        ("chart/examples/b.yaml", &on_delete("b", "")),
        ("templates/c.yaml", &on_delete("c", "")),
    ]);
    let (code, report) = folder.json(".");
    assert_eq!((code, &report["summary"]["objects"]), (0, &4.into()), "{report}");
    let ran = folder.check(".");
    let text = "not checked: ./chart/Chart.yaml, ./chart/templates/ds.yaml:1: a chart is checked as it is rendered; \
                helm template ./chart | setguard check -\n";
    assert!(ran.stdout.contains(text), "{ran:?}");
    // A file that the user names is read.
    folder.check("chart/templates/ds.yaml").ends(2).prints("helm template");
}

#[test]
fn the_parts_of_a_kustomization_are_not_checked_alone() {
    let patch = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec: {minReadySeconds: 5}\n";
    let kustomization = "\
resources: [../base]
patches:
  - path: a.yaml
    target: {kind: DaemonSet}
  - patch: |-
      - {op: remove, path: /spec}
    target: {kind: DaemonSet}
patchesStrategicMerge: [./b.yaml, '../shared/c.yaml', \"apiVersion: v1\\nkind: A\\n\"]
patchesJson6902: [{path: d.json, target: {kind: DaemonSet}}]
replacements: [{path: e.yaml}]
helmCharts: [{name: x, valuesFile: f.yaml, additionalValuesFiles: [g.yaml]}]
configMapGenerator: [{name: x, files: [h.yaml, key=i.yaml]}]
";
    let folder = Folder::new([
        ("base/agent.yaml", on_delete("agent", "").as_str()),
        ("base/kustomization.yaml", "resources: [agent.yaml]\n"),
        ("prod/kustomization.yaml", kustomization),
    ]);
    for name in [
        "prod/a.yaml",
        "prod/b.yaml",
        "shared/c.yaml",
        "prod/d.json",
        "prod/e.yaml",
        "prod/f.yaml",
        "prod/g.yaml",
        "prod/h.yaml",
        "prod/i.yaml",
    ] {
        folder.write(name, patch);
    }
    let (code, report) = folder.json(".");
    assert_eq!((code, &report["summary"]["objects"]), (0, &1.into()), "{report}");
    // Whatever else it is a part of, a set without a selector and labels is no object.
    let partial = report["notChecked"].as_array().unwrap().iter();
    let partial: Vec<_> = partial.filter(|it| it["reason"] == "partial").collect();
    assert_eq!(partial.len(), 9, "{report}");
    let ran = folder.check(".");
    let text = "not checked: ./prod/kustomization.yaml: a kustomization is checked as it is built; \
                kubectl kustomize ./prod | setguard check -\n";
    assert!(ran.stdout.contains(text), "{ran:?}");
    assert_eq!(folder.check("prod/a.yaml").code, 1);
}

#[test]
fn findings_name_the_template() {
    let stream = format!(
        "---\n# Source: agent/templates/rbac.yaml\napiVersion: v1\nkind: ServiceAccount\n---\n# Source: agent/templates/ds.yaml\n{}",
        on_delete("agent", "")
    );
    let folder = Folder::new([]);
    folder.feed(&["check", "-"], &stream).prints("= from: agent/templates/ds.yaml, rendered");
    let ran = folder.feed(&["check", "-", "--format", "json"], &stream);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rules(&report).len(), 1);
    assert_eq!(report["findings"][0]["renderedFrom"], "agent/templates/ds.yaml");
    assert_eq!(report["findings"][0]["line"], 13);

    let origin = "namespace: ops, annotations: {config.kubernetes.io/origin: \"path: ../base/ds.yaml\\nrepo: x\\n\"}";
    let text = on_delete("agent", "").replacen("namespace: ops", origin, 1);
    folder.feed(&["check", "-"], &text).prints("= from: ../base/ds.yaml, rendered");
    // A comment in the text of another document says nothing about this one.
    folder.feed(&["check", "-"], on_delete("agent", "")).prints_no("from:");
}

/// `helm template` prints no namespace, and a dump of a cluster has one.
#[test]
fn manifests_without_a_namespace_belong_to_the_one_that_is_given() {
    let rendered = on_delete("agent", "").replace(", namespace: ops", "");
    let stored = on_delete("agent", "").replace("{app: agent}", "{app: old}");
    let folder = Folder::new([
        ("dump.yaml", stored.as_str()),
        ("old.yaml", &rendered.replace("OnDelete", "x")),
    ]);
    let check = |args: &[&str]| folder.feed(&[&["check", "-"], args].concat(), &rendered);
    let hint = "ops has one with this name; -n ops is the namespace of manifests that set none";
    check(&["--against", "dump.yaml"]).ends(0).prints(hint);
    for flag in ["-n", "--namespace"] {
        let ran = check(&["--against", "dump.yaml", flag, "ops"]).ends(1);
        assert!(
            ran.stdout.contains("field is immutable") && ran.stdout.contains("ops/agent"),
            "{ran:?}"
        );
        assert!(!ran.stdout.contains(hint), "{ran:?}");
    }
    // The namespace is meant.
    let ran = check(&["--against", "dump.yaml", "-n", "shop"]);
    assert!(ran.code == 0 && !ran.stdout.contains(hint), "{ran:?}");
    // Previous manifests that set none belong to it too, and so do neighbors and exceptions of the policy.
    check(&["--against", "old.yaml", "-n", "ops", "--format", "json"])
        .prints("\"namespace\": \"ops\"");
    let policy = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nexceptions:\n\
                  - {rules: [on-delete-ignores-rolling-update], namespaces: [ops], reason: known}\n";
    folder.write("setguard.yaml", policy);
    assert_eq!(check(&["--deny-warnings"]).code, 1);
    assert_eq!(check(&["--deny-warnings", "-n", "ops"]).code, 0);
}
