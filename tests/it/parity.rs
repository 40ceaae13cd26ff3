//! The central promise: `check` and `/validate` report the same findings for the same object.

use setguard::rules::rule::{Phase, Rule};

use setguard_testing::manifests;

use crate::prelude::*;
use crate::{folder, review};

/// Returns whether both `check` and the webhook must report a finding: some rules apply to only one of them, or less
/// strictly.
fn is_of_check_and_webhook(found: &Found) -> bool {
    let is_before = |trap: &Rule| trap.phase() != Some(Phase::After);
    let mut traps = traps().filter(|trap| trap.meta.id == found.rule);
    found.rule != "pod-template-validation" && !traps.any(is_before)
}

fn validate(json: &str, old: Option<&str>) -> Value {
    let mut object: Value = serde_json::from_str(json).unwrap();
    if old.is_none() {
        // The API server sets these before it calls the webhooks, and `resourceVersion` after that.
        let set =
            json!({ "uid": "2", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1 });
        object["metadata"].as_object_mut().unwrap().extend(set.as_object().unwrap().clone());
    }
    let old: Option<Value> = old.map(|old| serde_json::from_str(old).unwrap());
    let resource = support::resource(json).unwrap();
    let kind = json!({"group": resource.group, "version": resource.version,
        "kind": resource.kind.as_str()});
    // The API server sends an empty name before it generates one.
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let policy = Policy::default();
    let cx = Context::of_review(&policy, date(2026, 1, 1));
    let request = json!({"kind": kind, "name": name, "namespace": "default", "object": object,
        "oldObject": old});
    review::response(request, &cx)
}

fn strings(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().map(|v| v.as_str().unwrap().to_owned()).collect()
}

#[test]
fn check_and_validate_agree_on_every_fixture() {
    let mut seen = 0;
    let folders = ["good", "broken"].into_iter().flat_map(support::fixtures);
    for (path, text) in manifests::cases().into_iter().chain(folders) {
        let old = support::old_of(&path);
        for json in support::to_json(&text) {
            if support::resource(&json).is_none() || !support::decodes(&json) {
                continue;
            }
            let found = support::evaluate(&json, old.as_deref());
            let response = &validate(&json, old.as_deref());
            agree(&found, response, &path.display().to_string());
            seen += 1;
        }
    }
    assert!(seen > 400, "only {seen} objects");
}

fn agree(found: &[Found], response: &Value, place: &str) {
    let of = |mode: &'static str| {
        found.iter().filter(move |f| f.mode == mode && is_of_check_and_webhook(f))
    };
    let expected: BTreeSet<(String, String, String)> = of("deny")
        .map(|f| {
            let adjustable = catalogue::find(&f.rule).unwrap().meta.adjustable;
            let mark = if adjustable { format!(" (setguard: {})", f.rule) } else { String::new() };
            (f.reason.clone(), f.field.clone(), format!("{}{mark}", f.text))
        })
        .collect();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap().to_owned();
    let causes = response["status"]["details"]["causes"].as_array();
    let denied: BTreeSet<_> = causes
        .into_iter()
        .flatten()
        .map(|cause| (text(cause, "reason"), text(cause, "field"), text(cause, "message")))
        .collect();
    assert_eq!(denied, expected, "{place}");
    assert_eq!(response["allowed"], json!(expected.is_empty()), "{place}");

    // A warning may be shortened in the middle, so compare its start and end.
    let warnings = strings(&response["warnings"]);
    let expected: Vec<_> =
        of("warn").map(|f| format!("{}: {}: {}", f.rule, f.field, f.text)).collect();
    // The webhook merges warnings that differ only in names, and lists the other fields.
    let fields = |w: &String| match w.split_once(" (also ") {
        Some((_, rest)) => rest.split_once(')').unwrap().0.split(", ").count(),
        None => 0,
    };
    let count = warnings.len() + warnings.iter().map(fields).sum::<usize>();
    assert_eq!(count, expected.len(), "{place}: {warnings:?}");
    for warning in expected {
        let field = warning.split(": ").nth(1).unwrap();
        let said = |w: &String| match w.split_once('…') {
            _ if w.contains(" (also ") => w.contains(field),
            Some((head, tail)) => warning.starts_with(head) && warning.ends_with(tail),
            None => *w == warning,
        };
        assert!(warnings.iter().any(said), "{place}: {warning}\n{warnings:?}");
    }
}

#[test]
fn null_is_the_zero_value_for_check_and_validate() {
    let object = |nothing: Value, empty: Value, zero: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"},
            "spec": {
                "selector": {"matchLabels": {"app": "a"}, "matchExpressions": [{
                    "key": "app", "operator": "In", "values": ["a", nothing],
                }]},
                "minReadySeconds": -1,
                "template": {
                    "metadata": {"labels": {"app": "a", "empty": nothing}},
                    "spec": {
                        "nodeSelector": {"disk": nothing},
                        "containers": [{
                            "name": "a", "image": "b", "command": [nothing],
                            "resources": {"requests": {"cpu": zero}},
                        }, empty],
                    },
                },
            },
        })
        .to_string()
    };
    let with_nulls = object(json!(null), json!(null), json!(null));
    let in_full = object(json!(""), json!({}), json!("0"));
    assert!(!support::decodes(&with_nulls), "the nulls must not decode as they are");
    let found = support::evaluate(&in_full, None);
    assert!(found.iter().any(|f| f.field == "spec.minReadySeconds"), "{found:?}");
    agree(&found, &validate(&with_nulls, None), "created");
    // The old object has the same change, but a different selector.
    let before = |json: &str| json.replace("\"matchLabels\":{\"app\"", "\"matchLabels\":{\"x\"");
    let found = support::evaluate(&in_full, Some(&before(&in_full)));
    assert!(found.iter().any(|f| f.field == "spec.selector"), "{found:?}");
    agree(&found, &validate(&with_nulls, Some(&before(&with_nulls))), "updated");
}

#[test]
fn objects_of_a_cluster_have_no_file_and_no_exception_for_one() {
    let rule = "on-delete-ignores-rolling-update";
    let exception = format!("exceptions: [{{files: ['**'], rules: [{rule}], reason: agreed}}]\n");
    let policy = Policy::parse(&folder::policy(&exception)).unwrap();
    let json = &support::to_json(&on_delete("agent", ""))[0];
    let found = support::evaluate_update(&policy, json, json);
    let found: Vec<_> =
        found.iter().filter(|it| it.rule == rule).map(|it| it.mode.as_str()).collect();
    assert_eq!(found, ["warn"]);
}
