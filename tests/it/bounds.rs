//! Objects that are too large to evaluate: setguard doesn't read them, and size does not bypass an enforced rule.

use std::sync::atomic::{AtomicUsize, Ordering};

use setguard::{engine::deadline::Deadline, rules::too_large_to_check::TOO_LARGE};

use crate::prelude::*;
use crate::{
    folder,
    review::{review, warnings},
};

/// A DaemonSet with this many volumes. Its selector does not match, to cause a denial.
fn daemon_set(volumes: usize) -> Value {
    let volumes: Vec<Value> = (0..volumes).map(|i| json!({"name": format!("v-{i}")})).collect();
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
            "metadata": {"labels": {"app": "other"}},
            "spec": {"containers": [{"name": "agent", "image": "agent:1"}], "volumes": volumes}}}})
}

fn pod(tolerations: usize) -> Value {
    let tolerations: Vec<Value> =
        (0..tolerations).map(|i| json!({"key": format!("k-{i}"), "operator": "Exists"})).collect();
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "agent-1", "namespace": "shop",
                     "annotations": {"setguard.io/node": "worker-0"}},
        "spec": {"containers": [{"name": "agent", "image": "agent:1"}],
                 "tolerations": tolerations}})
}

fn enforcing() -> Policy {
    let mut policy = Policy::default();
    policy.set_mode(TOO_LARGE, Mode::Deny);
    policy
}

fn response(endpoint: Endpoint, object: &Value, old: Option<&Value>, policy: &Policy) -> Value {
    answer(endpoint, object, old, &Context::of_review(policy, date(2026, 1, 1)))
}

/// The answer of `/validate` if time runs out after this many clock checks.
fn validate(object: &Value, policy: &Policy, looks: usize) -> Value {
    let looked = AtomicUsize::new(0);
    let has_passed = || looked.fetch_add(1, Ordering::Relaxed) >= looks;
    let deadline = Deadline::passed_when(&has_passed);
    let cx = Context { deadline, ..Context::of_review(policy, date(2026, 1, 1)) };
    answer(Endpoint::Validate, object, None, &cx)
}

fn answer(endpoint: Endpoint, object: &Value, old: Option<&Value>, cx: &Context<'_>) -> Value {
    let user = json!({"username": "system:kube-controller-manager"});
    let body = review(json!({"userInfo": user, "object": object, "oldObject": old}));
    let answer = admission::answer(endpoint, body.as_bytes(), cx).unwrap();
    let findings = answer.record.findings.len();
    let mut review: Value = serde_json::from_slice(&answer.body).unwrap();
    let response = review["response"].take();
    let ids = ["denied", "warned", "audited"].map(|key| &response["auditAnnotations"][key]);
    assert_eq!(findings > 0, ids.iter().any(|ids| ids.is_string()), "{response}");
    response
}

#[test]
fn an_object_that_is_too_large_is_allowed_with_a_warning() {
    let policy = Policy::default();
    let answer = response(Endpoint::Validate, &daemon_set(1_000), None, &policy);
    assert_eq!(answer["allowed"], false, "1,000 volumes are evaluated");

    let response = response(Endpoint::Validate, &daemon_set(100_000), None, &policy);
    assert_eq!(response["allowed"], true);
    let [warning] = &warnings(&response)[..] else { panic!("{response}") };
    assert!(
        warning.starts_with("too-large-to-check: spec.template.spec.volumes: setguard does not"),
        "{warning}"
    );
    assert!(warning.contains("the 100000 items here"), "{warning}");
    assert_eq!(response["auditAnnotations"], json!({"warned": "too-large-to-check"}));
}

#[test]
fn a_policy_can_deny_what_is_too_large() {
    let (small, large, policy) = (daemon_set(1), daemon_set(2_000), enforcing());
    let validate = |old| response(Endpoint::Validate, &large, old, &policy);
    let denied = validate(None);
    assert_eq!(denied["allowed"], false);
    let cause = &denied["status"]["details"]["causes"][0];
    assert_eq!(cause["field"], "spec.template.spec.volumes");
    assert!(cause["message"].as_str().unwrap().ends_with("(setguard: too-large-to-check)"));
    assert_eq!(validate(Some(&small))["allowed"], false);
    // An already too large object stays editable, for example to remove its finalizers.
    let ratcheted = validate(Some(&large));
    assert_eq!(ratcheted["allowed"], true);
    assert_eq!(warnings(&ratcheted).len(), 1);
    // A smaller new object is evaluated, although the old object is not read.
    let smaller = response(Endpoint::Validate, &small, Some(&large), &policy);
    assert_eq!(smaller["auditAnnotations"]["denied"], "api-validation");
}

#[test]
fn nothing_is_injected_into_what_is_too_large() {
    let policy = Policy::default();
    let injected = response(Endpoint::Mutate, &pod(1_000), None, &policy);
    assert!(injected["patch"].is_string(), "{injected}");

    let large = pod(10_000);
    let warned = response(Endpoint::Mutate, &large, None, &policy);
    assert_eq!((&warned["allowed"], &warned["patch"]), (&json!(true), &Value::Null));
    assert!(warnings(&warned)[0].starts_with("too-large-to-check: spec.tolerations: "));
    let why = "the object is too large to evaluate";
    assert_eq!(warned["auditAnnotations"]["not-injected"], why);
    // Pods have no validating webhook; for sets, that webhook denies.
    assert_eq!(response(Endpoint::Mutate, &large, None, &enforcing())["allowed"], false);
    for endpoint in [Endpoint::Mutate, Endpoint::MutateControlPlane] {
        let set = response(endpoint, &daemon_set(2_000), None, &enforcing());
        assert_eq!((&set["allowed"], warnings(&set).len()), (&json!(true), 1), "{set}");
        assert_eq!(set["auditAnnotations"]["not-injected"], why);
    }
}

#[test]
fn evaluation_ends_in_time_with_what_was_found_so_far() {
    let set = daemon_set(1);
    let in_time = validate(&set, &Policy::default(), traps().count());
    assert_eq!(in_time["auditAnnotations"]["denied"], "api-validation");
    assert_eq!(in_time["auditAnnotations"]["warned"], Value::Null);

    let late = validate(&set, &Policy::default(), 3);
    assert_eq!(late["auditAnnotations"]["denied"], "api-validation");
    let [warning] = &warnings(&late)[..] else { panic!("{late}") };
    assert!(warning.contains("the evaluation took too long"), "{warning}");
    let denied = validate(&set, &enforcing(), 3);
    assert_eq!(denied["auditAnnotations"]["denied"], "api-validation, too-large-to-check");
}

/// The author of an object chooses its name, up to 253 characters.
#[test]
fn the_patterns_of_a_policy_do_not_take_the_time_of_a_review() {
    let mut set = daemon_set(1);
    set["spec"]["selector"]["matchLabels"]["app"] = json!("other");
    set["metadata"]["name"] = json!("a".repeat(253));
    let validate = |pattern: &str, looks: usize| {
        let text = folder::policy(&format!(
            "rules: {{name-too-long: deny}}\n\
             exceptions: [{{names: ['{pattern}'], rules: [name-too-long], reason: known}}]\n"
        ));
        validate(&set, &Policy::parse(&text).unwrap(), looks)
    };
    assert_eq!(validate(&format!("{}b", "*a".repeat(60)), usize::MAX)["allowed"], false);
    assert_eq!(validate(&"*a".repeat(60), usize::MAX)["allowed"], true);
    // An exception that was not read in time exempts nothing.
    let late = (0..=traps().count()).map(|looks| validate("*", looks));
    let mut late = late.filter(|it| it["auditAnnotations"]["denied"] == "name-too-long");
    let late = late.next().expect("time is over between the rules and the exceptions");
    assert!(
        late["warnings"].to_string().contains("exceptions of the policy were not read"),
        "{late}"
    );
}

#[test]
fn the_command_line_says_the_same_as_the_webhook() {
    let folder = Folder::new([]);
    let large = daemon_set(2_000).to_string();
    let ran = folder.feed(&["check", "--format=json", "-"], large).ends(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let [finding] = &report["findings"].as_array().unwrap()[..] else { panic!("{report:#}") };
    assert_eq!(finding["rule"], "too-large-to-check");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["field"], "spec.template.spec.volumes");

    let ran = folder.feed(&["inject", "-"], pod(10_000).to_string()).prints_no("nodeAffinity");
    let notes = ran.stderr;
    assert!(notes.starts_with("agent-1: warn: too-large-to-check: spec.tolerations"), "{notes}");
}
