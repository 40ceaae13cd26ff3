//! Compares the recorded verdicts with what users see: files in, a report of `setguard check` out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};
use setguard::{catalogue, finding::Meta, rules::pod_template_validation::POD_TEMPLATE_VALIDATION};

use crate::corpus::{bases, cases};

/// Runs `setguard check --format json` and reads its report.
fn check(arguments: &[&Path]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_setguard"))
        .args(["check", "--format", "json", "--kube-version", "1.36"])
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("a report")
}

/// The findings of the three rules that reproduce the API server's checks, for a case.
#[derive(Default)]
struct Said {
    refused: bool,
    schema: Vec<String>,
    causes: BTreeSet<(String, String)>,
}

fn by_file(report: &Value) -> BTreeMap<String, Said> {
    let mut all: BTreeMap<String, Said> = BTreeMap::new();
    for finding in report["findings"].as_array().unwrap() {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        let file = text("file");
        let id = Path::new(&file).file_stem().unwrap().to_str().unwrap().to_owned();
        let said = all.entry(id).or_default();
        said.refused |= text("severity") == "error";
        match text("rule").as_str() {
            "schema" => said.schema.push(format!("{}: {}", text("field"), text("message"))),
            "api-validation" | "pod-template-validation" => {
                said.causes.insert((text("field"), text("reason")));
            }
            other => panic!("{other} should be turned off"),
        }
    }
    all
}

#[test]
fn check_reports_what_the_api_server_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (new, old, policy) = (path("new"), path("old"), path("policy.yaml"));
    fs::create_dir(&new).unwrap();
    fs::create_dir(&old).unwrap();
    // Turns off setguard's own rules: the API server must report what is left too.
    let ours = |meta: &&Meta| meta.adjustable && *meta != POD_TEMPLATE_VALIDATION;
    let metas = catalogue::all().iter().map(|rule| &rule.meta);
    let off: BTreeMap<_, _> = metas.filter(ours).map(|meta| (meta.id, "off")).collect();
    let file = json!({"apiVersion": "setguard.io/v1alpha1", "kind": "Policy", "rules": off});
    fs::write(&policy, file.to_string()).unwrap();

    let bases = bases();
    let cases = cases();
    let mut sent = BTreeSet::new();
    for case in &cases {
        let Some(mut object) = case.object(&bases) else { continue };
        // Each case gets its own namespace, since many of them share a name.
        let write = |folder: &Path, object: &mut Value| {
            object["metadata"]["namespace"] = json!(case.id);
            fs::write(folder.join(format!("{}.json", case.id)), object.to_string()).unwrap();
        };
        write(&new, &mut object);
        if let Some(mut before) = case.old(&bases) {
            write(&old, &mut before);
        }
        sent.insert(&case.id);
    }

    let [verb, against, with] = ["--as=replace", "--against", "--policy"].map(Path::new);
    let report = check(&[verb, against, &old, with, &policy, &new]);
    assert_eq!(report["summary"]["objects"], json!(sent.len()));
    let mut said = by_file(&report);
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| sent.contains(&case.id)) {
        let ours = said.remove(&case.id).unwrap_or_default();
        let theirs = case.verdict.causes.iter();
        let theirs: BTreeSet<_> =
            theirs.map(|cause| (cause.field.clone(), cause.reason.clone())).collect();
        let same = match case.verdict.code {
            400 => ours.refused && !ours.schema.is_empty(),
            code => {
                ours.refused == (code == 422) && ours.schema.is_empty() && ours.causes == theirs
            }
        };
        if !same {
            wrong.push(format!(
                "{}: {} {}\n    server:   {:?}\n    setguard: {:?} {:?}",
                case.id,
                case.verdict.code,
                case.verdict.message,
                theirs.difference(&ours.causes).collect::<Vec<_>>(),
                ours.causes.difference(&theirs).collect::<Vec<_>>(),
                ours.schema,
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), sent.len(), wrong.join("\n"));
}

#[test]
fn an_object_with_a_generated_name_is_always_new() {
    let folder = tempfile::tempdir().unwrap();
    let report = |metadata: Value| {
        let object = |label: &str| {
            json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
                "spec": {
                    "selector": {"matchLabels": {"app": label}},
                    "template": {
                        "metadata": {"labels": {"app": label}},
                        "spec": {"containers": [{"name": "a", "image": "b"}]},
                    },
                },
            })
        };
        let [old, new] = ["old.json", "new.json"].map(|name| folder.path().join(name));
        fs::write(&old, object("old").to_string()).unwrap();
        // Inside a List it is still the same object.
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [object("new")]});
        fs::write(&new, list.to_string()).unwrap();
        check(&[Path::new("--as=replace"), Path::new("--against"), &old, &new])
    };
    let changed = report(json!({"name": "a-"}));
    let fields: Vec<_> =
        changed["findings"].as_array().unwrap().iter().map(|found| &found["field"]).collect();
    assert!(fields.contains(&&json!("spec.selector")), "{changed}");
    let made = report(json!({"generateName": "a-"}));
    assert_eq!(made["summary"]["denied"], json!(0), "{made}");
}
