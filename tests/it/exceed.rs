//! The annotation that lets listed users exceed a limit.

use setguard::inventory::view::View;
use setguard_testing::manifests::rolled_by;

use crate::prelude::*;
use crate::{
    limits::{limits as policy_text, policy},
    limits_in_cluster::{self, scale},
    view,
};

const LISTED: &str = "mayExceed: {users: [ann], groups: [storage-admins]}";

fn database(replicas: u32, permit: Option<&str>) -> Value {
    let mut set = limits_in_cluster::database("Delete", 0);
    set["metadata"]["uid"] = json!("u");
    set["spec"]["replicas"] = json!(replicas);
    if let Some(permit) = permit {
        set["metadata"]["annotations"] = json!({"setguard.io/exceed": permit});
    }
    set
}

/// The answer to this user's change.
fn answer(policy: &Policy, user: &Value, [old, new]: [&Value; 2]) -> Value {
    ask(policy, user, &json!({"object": new, "oldObject": old}), None)
}

fn ask(policy: &Policy, user: &Value, request: &Value, view: Option<&View>) -> Value {
    let mut request = request.clone();
    request["userInfo"] = user.clone();
    request["name"] = json!("db");
    limits_in_cluster::answer(&request, policy, view)
}

fn scale_down(policy: &Policy, user: &Value, permit: &str) -> Value {
    answer(policy, user, [&database(5, None), &database(3, Some(permit))])
}

fn user(name: &str, groups: &[&str]) -> Value {
    json!({"username": name, "groups": groups})
}

#[test]
fn a_listed_user_exceeds_the_limit_that_the_annotation_names() {
    let policy = policy(&format!("deletesClaims: false, {LISTED}"));
    let permit = "deletesClaims=2026-01-01";
    for (user, name) in [
        (user("ann", &["system:authenticated"]), "ann"),
        (user("bob", &["system:authenticated", "storage-admins"]), "bob"),
    ] {
        let answer = scale_down(&policy, &user, permit);
        assert_eq!(answer["allowed"], true, "{answer}");
        let trail = &answer["auditAnnotations"];
        let used = format!(
            "limit-exceeded (setguard.io/exceed: deletesClaims until 2026-01-01, by {name})"
        );
        assert_eq!(trail["excepted"], used, "{answer}");
        assert_eq!(trail["audited"].as_str().map(|it| it.contains("limit-exceeded")), Some(true));
        assert_eq!(trail.get("denied"), None, "{answer}");
    }
}

#[test]
fn an_annotation_that_is_not_valid_permits_nothing() {
    let cases = include_str!("../fixtures/exceed/invalid.jsonl").lines();
    assert_eq!(cases.clone().count(), 21);
    for case in cases {
        let (limit, user, permit, why): (String, Value, String, String) =
            serde_json::from_str(case).unwrap();
        let answer = scale_down(&policy(&limit), &user, &permit);
        assert_eq!(answer["allowed"], false, "{permit}: {answer}");
        assert_eq!(answer["auditAnnotations"].get("excepted"), None, "{permit}: {answer}");
        let warnings = answer["warnings"].to_string().replace("\\\"", "\"");
        assert!(warnings.contains(&why), "{permit}: {why}: {warnings}");
        assert_eq!(
            why.is_empty(),
            !warnings.contains("setguard.io/exceed"),
            "{permit}: {warnings}"
        );
    }
}

#[test]
fn a_huge_annotation_is_cut_in_the_answer() {
    let policy = policy(&format!("deletesClaims: false, {LISTED}"));
    let huge = "x=y,".repeat(60_000) + &"z".repeat(20_000);
    let answer = scale_down(&policy, &user("ann", &[]), &huge);
    assert_eq!(answer["allowed"], false);
    assert!(answer.to_string().len() < 16 << 10, "{} bytes", answer.to_string().len());
}

#[test]
fn the_annotation_counts_only_in_the_new_object_and_only_for_who_makes_the_change() {
    let policy = policy(&format!("deletesClaims: false, {LISTED}"));
    let permit = Some("deletesClaims=2026-01-10");
    let ann = user("ann", &[]);
    // A listed user set the annotation earlier; a different user removes the pods.
    let objects = [&database(5, permit), &database(3, permit)];
    assert_eq!(answer(&policy, &user("eve", &[]), objects)["allowed"], false);
    assert_eq!(answer(&policy, &ann, objects)["allowed"], true);
    // The new object lacks the annotation.
    let objects = [&database(5, permit), &database(3, None)];
    assert_eq!(answer(&policy, &ann, objects)["allowed"], false);
    // Within the limits, the annotation has no effect.
    let objects = [&database(3, permit), &database(3, permit)];
    let unused = answer(&policy, &user("eve", &[]), objects);
    assert_eq!(
        (unused["allowed"].as_bool(), unused.get("warnings")),
        (Some(true), None),
        "{unused}"
    );
    assert_eq!(unused["auditAnnotations"].get("excepted"), None, "{unused}");
}

#[test]
fn the_other_limits_stay() {
    let parallel = |replicas: u32, image: &str, permit: Option<&str>| {
        let strategy =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}});
        let mut set = rolled_by(database(replicas, permit), &strategy);
        set["spec"]["podManagementPolicy"] = json!("Parallel");
        set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        set
    };
    let limits =
        format!("atMostUnavailable: 1, deletesClaims: false, replacesAll: false, {LISTED}");
    let mut both = policy(&limits);
    both.cluster.set_gate("MaxUnavailableStatefulSet", true);
    let ann = user("ann", &[]);
    for (permit, denied) in [
        ("replacesAll=2026-01-02", vec!["atMostUnavailable"]),
        ("atMostUnavailable=2026-01-02", vec!["replacesAll"]),
        ("deletesClaims=2026-01-02", vec!["replacesAll", "atMostUnavailable"]),
        ("replacesAll=2026-01-02, atMostUnavailable=2026-01-02", vec![]),
        ("replacesAll=2026-01-02, atMostUnavailable=2025-01-02", vec!["atMostUnavailable"]),
    ] {
        let objects = [&parallel(4, "db:1", None), &parallel(4, "db:2", Some(permit))];
        let answer = answer(&both, &ann, objects);
        let causes = answer["status"]["details"]["causes"].as_array().cloned().unwrap_or_default();
        let causes: Vec<_> = causes.iter().map(|it| it["message"].as_str().unwrap()).collect();
        assert_eq!(causes.len(), denied.len(), "{permit}: {causes:?}");
        for limit in denied {
            assert!(
                causes.iter().any(|it| it.contains(&format!("by {limit}"))),
                "{permit}: {causes:?}"
            );
        }
    }
    // A different limit of the policy, without listed users.
    let strict = format!(
        "{}- {{deletesClaims: false, reason: never}}\n",
        policy_text(&format!("deletesClaims: false, {LISTED}"))
    );
    let answer = scale_down(&Policy::parse(&strict).unwrap(), &ann, "deletesClaims=2026-01-02");
    assert_eq!(answer["allowed"], false, "{answer}");
    assert_eq!(answer["status"]["details"]["causes"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn a_write_of_the_scale_needs_the_annotation_of_the_stored_set() {
    let policy = policy(&format!("deletesClaims: false, {LISTED}"));
    let request = scale("statefulsets", 5, 3);
    for (name, permit, is_allowed) in [
        ("ann", Some("deletesClaims=2026-01-02"), true),
        ("ann", None, false),
        ("ann", Some("deletesClaims=2025-01-02"), false),
        (
            "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
            Some("deletesClaims=2026-01-02"),
            false,
        ),
    ] {
        let known = view::view([&database(5, permit)]);
        let answer = ask(&policy, &user(name, &[]), &request, Some(&known));
        assert_eq!(answer["allowed"], is_allowed, "{name} {permit:?}: {answer}");
        assert_eq!(answer["auditAnnotations"].get("excepted").is_some(), is_allowed, "{answer}");
    }
}
