//! The same object gets the same findings, in the same words, from `setguard check` and at the
//! API server.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use super::Case;
use crate::{harness::kubectl::Output, namespace::Namespace};

pub(super) const CASES: &[Case] = &[Case::new("both-doors-say-the-same-of-the-examples", examples)];

fn examples(namespace: &Namespace<'_>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/manifests");
    let mut denied = 0;
    let entries = fs::read_dir(folder).expect("the examples");
    for path in entries.map(|entry| entry.expect("an example").path()) {
        let manifest = moved(&fs::read_to_string(&path).expect("an example"), namespace.name);
        let findings = check(namespace, &manifest);
        let output = namespace.kubectl(&["apply", "--dry-run=server", "-f", "-"], &manifest);
        for finding in &findings {
            assert_said(finding, &output);
        }
        let errors = findings.iter().filter(|finding| finding["severity"] == "error").count();
        assert_eq!(
            output.success,
            errors == 0,
            "check found {findings:#?} in {path:?}, but {output}"
        );
        let warnings = findings.iter().filter(|finding| finding["severity"] == "warning").count();
        let warned = output.stderr.lines().filter(|line| line.starts_with("Warning: ")).count();
        assert_eq!(warned, warnings, "check found {findings:#?} in {path:?}, but {output}");
        denied += errors;
    }
    assert!(denied > 0, "some of the examples have a fault");
}

/// The manifest in another namespace. The examples' own do not exist here.
fn moved(manifest: &str, namespace: &str) -> String {
    let lines = manifest.lines().map(|line| match line.split_once("namespace: ") {
        Some((indent, _)) if indent.trim().is_empty() => {
            format!("{indent}namespace: {namespace}\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// What `setguard check` finds, for the cluster's release.
fn check(namespace: &Namespace<'_>, manifest: &str) -> Vec<Value> {
    let version = namespace.kubectl(&["version", "-o", "json"], "").json();
    let minor = version["serverVersion"]["minor"].as_str().expect("a version");
    let file = namespace.control_plane.folder().join("manifest.yaml");
    fs::write(&file, manifest).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_setguard"))
        .args(["check", "--format=json", &format!("--kube-version=1.{minor}")])
        .arg(file)
        .output()
        .expect("setguard starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    report["findings"].as_array().expect("findings").clone()
}

#[track_caller]
fn assert_said(finding: &Value, output: &Output) {
    let text = |key: &str| finding[key].as_str().expect("text");
    let words = match (text("severity"), text("rule")) {
        // Of what does not decode the API server speaks in the words of its decoder.
        ("error", "schema") => text("field").to_owned(),
        ("error", _) => format!("{}: {}", text("field"), text("message")),
        ("warning", rule) => format!("Warning: {rule}: {}: ", text("field")),
        _ => return,
    };
    assert!(output.stderr.contains(&words), "expected {words:?} from {output}");
}
