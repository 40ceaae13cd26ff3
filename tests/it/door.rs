//! The recorded verdicts once more, through the door that people use: files in, a report out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};
use setguard::{catalogue, finding::Meta, rules::api_validation::meta::POD_TEMPLATE_VALIDATION};

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

/// What the three rules that speak for the API server say of a case.
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
            other => panic!("{other} was turned off"),
        }
    }
    all
}

#[test]
fn check_says_what_the_api_server_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (new, old, policy) = (path("new"), path("old"), path("policy.yaml"));
    fs::create_dir(&new).unwrap();
    fs::create_dir(&old).unwrap();
    // All that is ours: what is left is what the API server says too.
    let ours = |meta: &&Meta| meta.adjustable && **meta != POD_TEMPLATE_VALIDATION;
    let metas = catalogue::all().iter().map(|rule| rule.meta);
    let off: BTreeMap<_, _> = metas.filter(ours).map(|meta| (meta.id, "off")).collect();
    let file = json!({"apiVersion": "setguard.io/v1alpha1", "kind": "Policy", "rules": off});
    fs::write(&policy, file.to_string()).unwrap();

    let bases = bases();
    let cases = cases();
    let mut sent = BTreeSet::new();
    for case in &cases {
        let Some(mut object) = case.object(&bases) else { continue };
        // Each case has a namespace of its own, since many of them share a name.
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

    let arguments = ["--against", "--policy"].map(Path::new);
    let report = check(&[arguments[0], &old, arguments[1], &policy, &new]);
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
fn what_is_made_of_a_generated_name_is_new() {
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
        // In a list, too: it is the same object there.
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [object("new")]});
        fs::write(&new, list.to_string()).unwrap();
        check(&[Path::new("--against"), &old, &new])
    };
    let changed = report(json!({"name": "a-"}));
    let fields: Vec<_> =
        changed["findings"].as_array().unwrap().iter().map(|found| &found["field"]).collect();
    assert!(fields.contains(&&json!("spec.selector")), "{changed}");
    let made = report(json!({"generateName": "a-"}));
    assert_eq!(made["summary"]["denied"], json!(0), "{made}");
}
