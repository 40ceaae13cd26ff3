//! `setguard check` and the webhook report the same findings, with the same texts, for the same object.

use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::new("check-and-kubectl-say-the-same-about-the-examples", |namespace| {
        compare(namespace, "examples/manifests");
    }),
    Case::new("check-and-kubectl-say-the-same-about-faults", |namespace| {
        compare(namespace, "tests/fixtures/broken");
    }),
];

fn compare(namespace: &Namespace<'_>, folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let version = format!("1.{}", namespace.control_plane.minor());
    let mut denied = 0;
    for path in fs::read_dir(folder).expect("manifests").map(|entry| entry.expect("one").path()) {
        let manifest = moved(&fs::read_to_string(&path).expect("text"), namespace.name);
        let findings = check(namespace, &version, &manifest);
        let output = namespace.kubectl(&["apply", "--dry-run=server", "-f", "-"], &manifest);
        for finding in &findings {
            assert_said(finding, &output, namespace.control_plane.minor());
        }
        let count = |severity| findings.iter().filter(|f| f["severity"] == severity).count();
        let warned = output.stderr.lines().filter(|line| line.starts_with("Warning: ")).count();
        assert_eq!(
            (output.success, warned),
            (count("error") == 0, count("warning")),
            "check found {findings:#?} in {path:?}, but {output}"
        );
        denied += count("error");
    }
    assert!(denied > 0, "some of the manifests are bad");
}

/// The manifest in a new namespace, because the examples' namespaces do not exist here.
fn moved(manifest: &str, namespace: &str) -> String {
    let lines = manifest.lines().map(|line| match line.split_once("namespace: ") {
        Some((indent, _)) if indent.trim().is_empty() => {
            format!("{indent}namespace: {namespace}\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

fn check(namespace: &Namespace<'_>, version: &str, manifest: &str) -> Vec<Value> {
    let file = namespace.control_plane.folder().join(format!("{}.yaml", namespace.name));
    fs::write(&file, manifest).expect("a file");
    let args = ["check", "--format=json", "--kube-version", version, &file.display().to_string()];
    let output = setguard(&namespace.control_plane.kubectl.kubeconfig, &args);
    let report: Value = serde_json::from_str(&output.stdout).expect("a report");
    report["findings"].as_array().expect("findings").clone()
}

/// The first minor release that prints values in messages as JSON. 1.33 prints Go syntax with types
/// (docs/conformance.md).
const VALUES_AS_JSON: u32 = 34;

#[track_caller]
fn assert_said(finding: &Value, output: &Output, minor: u32) {
    let text = |key: &str| finding[key].as_str().expect("text");
    // setguard adds the remedy to the API server's error.
    let message = text("message").split("; there is no spec.selector").next().expect("text");
    let words = match (text("severity"), text("rule")) {
        // For an undecodable object, the API server reports its decoder's error.
        ("error", "schema") => text("field").to_owned(),
        ("error", _) if minor < VALUES_AS_JSON && message.contains(" value: ") => {
            let (what, _) = message.split_once(" value: ").expect("a value");
            let field = format!("{}: {what} value: ", text("field"));
            assert!(output.stderr.contains(&field), "expected {field:?} from {output}");
            message.rsplit(": ").next().expect("a detail").to_owned()
        }
        ("error", _) => format!("{}: {message}", text("field")),
        ("warning", rule) => format!("Warning: {rule}: {}: ", text("field")),
        _ => return,
    };
    assert!(output.stderr.contains(&words), "expected {words:?} from {output}");
}
