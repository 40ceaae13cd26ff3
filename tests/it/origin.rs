//! Compares the recorded verdicts with `setguard check`, from files to report.

use setguard::{finding::Meta, rules::pod_template_validation::POD_TEMPLATE_VALIDATION};

use crate::corpus::cases;
use crate::prelude::*;

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
    // Turns off setguard's own rules: the API server's errors must remain.
    let ours = |meta: &&Meta| meta.adjustable && *meta != POD_TEMPLATE_VALIDATION;
    let metas = catalogue::all().iter().map(|rule| &rule.meta);
    let off: BTreeMap<_, _> = metas.filter(ours).map(|meta| (meta.id, "off")).collect();
    let policy = json!({"apiVersion": "setguard.io/v1alpha1", "kind": "Policy", "rules": off});
    let folder = Folder::new([("policy.yaml", &*policy.to_string())]);

    let (bases, cases) = (bases(), cases());
    let mut sent = BTreeSet::new();
    for case in &cases {
        let Some(object) = case.object(&bases) else { continue };
        for (at, object) in [("new", Some(object)), ("old", case.old(&bases))] {
            let Some(mut object) = object else { continue };
            // Each case gets its own namespace, because many share a name.
            object["metadata"]["namespace"] = json!(case.id);
            folder.write(&format!("{at}/{}.json", case.id), object.to_string());
        }
        sent.insert(&case.id);
    }

    let flags = "--format json --kube-version 1.36 --as=replace --policy policy.yaml";
    let ran = folder.check(&format!("{flags} --against old new")).reports_only("");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
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
