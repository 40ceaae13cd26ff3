//! Exceptions that name files: each team of a repository has its own.

use setguard::policy::Policy;

use crate::{
    folder::{self, on_delete},
    support,
};

const RULE: &str = "on-delete-ignores-rolling-update";

fn policy(files: &str) -> String {
    let rules = format!("rules: [{RULE}, selector-overlap]");
    folder::policy(&format!("exceptions:\n- files: {files}\n  {rules}\n  reason: agreed\n"))
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
