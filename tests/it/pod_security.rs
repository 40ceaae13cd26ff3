//! Checks that `pods-refused-by-pod-security` refuses the same pods as a real API server.
//!
//! `tests/conformance/pod-security.jsonl` has pod templates, and for some levels and versions the refusals by
//! kube-apiserver 1.36.2 for the pod in a namespace with these labels.

use setguard::engine;

use crate::prelude::*;
use crate::view::view;

/// Returns the refusals in a message, without the names of containers and volumes.
fn refused(message: Option<&str>) -> Vec<String> {
    let list = message.and_then(|text| text.split_once("which refuses all pods: "));
    let Some((_, list)) = list else { return Vec::new() };
    let list = list.split_once("; ").map_or(list, |(list, _)| list);
    let parts = list.split("), ");
    parts.map(|part| part.split_once(" (").unwrap().0.to_owned()).collect()
}

#[test]
fn it_refuses_what_the_api_server_refuses() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/pod-security.jsonl");
    let (mut policy, mut checked, mut reasons) = (Policy::default(), 0, BTreeSet::new());
    policy.cluster = support::cluster_of_release("1.36");
    for line in fs::read_to_string(file).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": case["template"]}});
        for (standard, expected) in case["refused"].as_object().unwrap() {
            let (level, version) = standard.split_once(':').unwrap();
            let label = |name: &str| format!("pod-security.kubernetes.io/{name}");
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": "shop",
                "labels": {label("enforce"): level, label("enforce-version"): version}}});
            let expected: Vec<String> = serde_json::from_value(expected.clone()).unwrap();
            let (set, text) = (&set, set.to_string());
            let together =
                support::evaluate_change(&[namespace.to_string(), text.clone()], &[], &policy);
            let found = together.iter().find(|it| it.rule == "pods-refused-by-pod-security");
            assert_eq!(refused(found.map(|it| &*it.text)), expected, "{standard} {set}");
            let cluster = view([&namespace]);
            let cx =
                Context { view: Some(&cluster), ..Context::of_review(&policy, date(2026, 1, 1)) };
            let object = Object::parse(support::resource(&text).unwrap(), &text).unwrap();
            let verdict = engine::evaluate(&Subject::create(object), &cx);
            let mut findings = verdict.violations.iter().map(|checked| &checked.finding);
            let found = findings.find(|it| it.rule.id == "pods-refused-by-pod-security");
            assert_eq!(refused(found.map(|it| &*it.message)), expected, "{standard} {set}");
            reasons.extend(expected);
            checked += 1;
        }
    }
    assert!(checked >= 2_000, "only {checked}");
    assert_eq!(reasons.len(), 17, "{reasons:?}");
}
