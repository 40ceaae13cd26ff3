//! Exceptions that name files: each team of a repository has its own.

use setguard::policy::Policy;

use crate::{folder::on_delete, support};

const RULE: &str = "on-delete-ignores-rolling-update";

fn policy(files: &str) -> String {
    format!(
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nexceptions:\n- files: {files}\n  \
         rules: [{RULE}, selector-overlap]\n  reason: agreed\n"
    )
}

#[test]
fn objects_of_a_cluster_have_no_file_and_no_such_exception() {
    let policy = Policy::parse(&policy("[\"**\"]")).unwrap();
    let json = &support::to_json(&on_delete("agent", ""))[0];
    let found = support::evaluate_update(&policy, json, json);
    let found: Vec<_> =
        found.iter().filter(|it| it.rule == RULE).map(|it| it.mode.as_str()).collect();
    assert_eq!(found, ["warn"]);
}

#[test]
fn a_pattern_that_is_none_is_an_error_with_its_place() {
    let problems = Policy::parse(&policy("[\"a/\", \"b/[z-a]\"]")).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].field.to_string(), "exceptions[0].files[1]");
    assert_eq!(problems[0].mark.line, 4);
}

#[test]
fn an_exception_for_more_files_is_weaker() {
    let parse = |files: &str| Policy::parse(&policy(files)).unwrap();
    let weaker =
        |now: &str, before: &str| !parse(now).weaker_than(&parse(before), "main").is_empty();
    assert!(weaker("[a, b]", "[a]"));
    assert!(weaker("[]", "[a]"));
    assert!(!weaker("[a]", "[a, b]"));
    assert!(!weaker("[a]", "[]"));
    // A pattern that takes back is gone, or comes before what it takes back.
    assert!(weaker("[a/]", "[a/, \"!a/deep/\"]"));
    assert!(weaker("[\"!a/deep/\", a/]", "[a/, \"!a/deep/\"]"));
    assert!(!weaker("[a/, \"!a/deep/\"]", "[a/, \"!a/deep/\"]"));
}
