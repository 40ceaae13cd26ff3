//! SARIF, as GitHub takes it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use setguard_testing::recorded::snapshot;

use super::{repository, three};
use crate::{cli::GOOD, json_schema::sarif};

#[test]
fn sarif_is_what_github_takes() {
    let folder = three();
    let ran = folder.run(&["check", "deploy", "--format", "sarif"]).ends(1).reports_only("");
    let mut log = sarif(&ran.stdout);
    // Only the rules of the results are described.
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let ids = |all: &[Value], key| -> BTreeSet<String> {
        all.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(rules, "id"), ids(results, "ruleId"));
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
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
    let ran = folder.run(&["check", "a.yaml", "--format", "sarif"]).ends(0);
    let log = sarif(&ran.stdout);
    assert_eq!(log["runs"][0]["results"], json!([]));
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"], json!([]));
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], true);
}
