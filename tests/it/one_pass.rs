//! The usual review is read in one pass, any other in two. Both ways must lead to the same answer.

use serde_json::{Value, json};
use setguard::{
    admission::{self, Endpoint},
    engine::Context,
    finding::Mode,
    policy::Policy,
    rules::traps::TRAPS,
};

use crate::support::{fixtures, old_of, resource, to_json};

fn answer(review: &str, policy: &Policy) -> String {
    let today = jiff::civil::date(2026, 11, 21);
    let cx = Context::of_review(policy, today);
    match admission::answer(Endpoint::Validate, review.as_bytes(), &cx) {
        Ok(answer) => format!("{} {:?}", String::from_utf8_lossy(&answer.body), answer.record),
        // The places in the text differ.
        Err(error) => error.to_string().replace(|c: char| c.is_ascii_digit(), ""),
    }
}

/// Asserts that the answer is the same to a review that begins with spaces, as no API server writes it.
fn assert_same(review: &str, policy: &Policy) {
    let spaced = format!("{}{review}", " ".repeat(1024));
    assert_eq!(answer(review, policy), answer(&spaced, policy), "{review}");
}

/// As an API server writes it, without spaces.
fn review(operation: &str, json: &str, old: Option<&str>) -> String {
    let kind = resource(json).unwrap();
    let (group, version, kind) = (kind.group, kind.version, kind.kind);
    let old = old.unwrap_or("null");
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"1","kind":{{"group":"{group}","version":"{version}","kind":"{kind}"}},"operation":"{operation}","object":{json},"oldObject":{old}}}}}"#
    )
}

/// Every trap denies, so that it is asked whether the old object had it too.
fn strict() -> Policy {
    let mut policy = Policy::default();
    TRAPS.iter().for_each(|trap| policy.set_mode(&trap.meta, Mode::Deny));
    policy
}

#[test]
fn the_answer_to_each_fixture_is_the_same() {
    let policy = strict();
    let mut updates = 0;
    for (path, text) in fixtures("rules") {
        let old = old_of(&path);
        updates += usize::from(old.is_some());
        for json in to_json(&text).iter().filter(|json| resource(json).is_some()) {
            assert_same(&review("CREATE", json, None), &policy);
            let old = old.as_deref().unwrap_or(json);
            assert_same(&review("UPDATE", json, Some(old)), &policy);
        }
    }
    assert!(updates > 50, "{updates} updates");
}

#[test]
fn the_answer_to_what_is_broken_or_unusual_is_the_same() {
    let container = json!({ "name": "a", "image": "a" });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": { "name": "a", "labels": { "a": "b" } },
        "spec": {
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [container] }
            }
        }
    });
    let policy = strict();
    let with = |pointer: &str, value: Value| {
        let mut set = set.clone();
        *set.pointer_mut(pointer).unwrap() = value;
        set.to_string()
    };
    let usual = set.to_string();
    let variants = [
        with("/kind", json!("StatefulSet")),
        with("/kind", json!(7)),
        with("/apiVersion", json!("apps/v1beta1")),
        with("/metadata", json!(null)),
        with("/metadata/labels/a", json!(null)),
        with("/spec", json!(null)),
        with("/spec/template", json!(null)),
        with("/spec/template", json!("text")),
        with("/spec/template/spec/containers/0", json!(null)),
        with("/spec/template/spec/containers/0/name", json!(1)),
        usual.replacen("\"metadata\"", "\"metadata\":{},\"metadata\"", 1),
        usual.replacen("\"a\"", "\"\\ud800\"", 1),
        usual.replacen('{', "[", 1),
        "null".to_owned(),
        "[]".to_owned(),
    ];
    for other in &variants {
        // The review has the kind of the usual object.
        let named = |object: &str, old: &str| {
            review("UPDATE", &usual, Some("7")).replacen(&usual, object, 1).replacen(
                "\"oldObject\":7",
                &format!("\"oldObject\":{old}"),
                1,
            )
        };
        assert_same(&named(other, &usual), &policy);
        assert_same(&named(&usual, other), &policy);
        assert_same(&named(other, "null").replacen("UPDATE", "CREATE", 1), &policy);
    }
    reviews_are_answered_the_same(&review("UPDATE", &usual, Some(&usual)), &policy);
}

/// Changes the review itself.
fn reviews_are_answered_the_same(update: &str, policy: &Policy) {
    for operation in ["CREATE", "DELETE", "CONNECT", "OTHER"] {
        assert_same(&update.replacen("UPDATE", operation, 1), policy);
    }
    for (part, other) in [
        ("admission.k8s.io/v1", "admission.k8s.io/v2"),
        ("\"uid\":\"1\"", "\"uid\":\"\""),
        ("\"version\":\"v1\"", "\"version\":\"v2\""),
        ("\"operation\"", "\"subResource\":\"status\",\"operation\""),
        ("\"operation\"", "\"kind\":{},\"operation\""),
    ] {
        assert_same(&update.replacen(part, other, 1), policy);
    }
    for length in (1..update.len()).step_by(7) {
        assert_same(&update[..length], policy);
    }
    assert_same(&format!("{update}x"), policy);
}
