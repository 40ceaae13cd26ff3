//! The formats of `check`, each parsed by a third-party program. `hostile.rs` has texts that try to break out of a
//! format.

use crate::prelude::*;
use crate::{
    cli::{GOOD, MISSPELT, policy},
    json_schema::sarif,
};

/// Has a warning in line 14, and no denial.
const WARNED: &str = include_str!("../fixtures/manifests/warned.yaml");

fn repository<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Folder {
    let folder = Folder::quiet(files);
    folder.write(".git/HEAD", "");
    folder.write(".quiet.yaml", policy(&[("partition-covers-all", "warn")], ""));
    folder
}

#[test]
fn the_excerpt_of_a_minified_line_has_only_the_line() {
    let json = format!(
        r#"{{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"name":"a","annotations":{{"b":"{}"}}}},"spec":{{"selector":{{"matchLabels":{{"app":"b"}}}},"template":{{"metadata":{{"labels":{{"app":"a"}}}},"spec":{{"containers":[{{"name":"a","image":"a"}}]}}}}}}}}"#,
        // Columns count characters; the output cuts the line around the finding.
        "é".repeat(5_000)
    );
    let folder = repository([("a.json", json.as_str())]);
    let ran = folder.setguard(&["check", "a.json"]);
    let expected = " --> a.json:1:5162\n  |\n1 | ";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() < 200), "{}", ran.stdout);
}

#[test]
fn sarif_is_what_github_takes() {
    let files = [("deploy/a.yaml", MISSPELT), ("deploy/b c.yaml", WARNED), ("deploy/d.yaml", GOOD)];
    let folder = repository(files);
    let ran = folder.setguard(&["check", "deploy", "--format", "sarif"]).ends(1).reports_only("");
    let mut log = sarif(&ran.stdout);
    // The report describes only rules with results.
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let ids = |all: &[Value], key| -> BTreeSet<String> {
        all.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(rules, "id"), ids(results, "ruleId"));
    let rule = rules.iter().find(|rule| rule["id"] == "partition-covers-all").unwrap().clone();
    log["runs"][0]["tool"]["driver"]["rules"] = json!([rule]);
    log["runs"][0]["tool"]["driver"]["semanticVersion"] = json!("VERSION");
    for result in log["runs"][0]["results"].as_array_mut().unwrap() {
        result["ruleIndex"] = json!("INDEX");
    }
    snapshot(
        "reports/sarif_is_what_github_takes",
        &folder.anywhere(&serde_json::to_string_pretty(&log).unwrap()),
    );
}

#[test]
fn sarif_of_a_clean_run_has_no_results() {
    let folder = repository([("a.yaml", GOOD)]);
    let log = sarif(&folder.check("a.yaml --format sarif").ends(0).stdout);
    assert_eq!(log["runs"][0]["results"], json!([]));
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"], json!([]));
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], true);
}
