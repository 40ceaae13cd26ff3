//! SARIF, as GitHub takes it.

use std::collections::BTreeSet;

use serde_json::json;
use setguard_testing::recorded::snapshot;

use super::{repository, three};
use crate::{cli::GOOD, json_schema::sarif};

#[test]
fn sarif_is_what_github_takes() {
    let folder = three();
    let ran = folder.run(&["check", "deploy", "--format", "sarif"]).ends(1).reports_only("");
    let mut log = sarif(&ran.stdout);
    // Rules that are off are not listed.
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert!(ids.contains("partition-covers-all") && ids.contains("schema"), "{ids:?}");
    assert!(!ids.contains("surge-host-port"), "{ids:?}");
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
fn sarif_of_a_clean_run_has_no_results_but_all_rules() {
    let folder = repository([("a.yaml", GOOD)]);
    let ran = folder.run(&["check", "a.yaml", "--format", "sarif"]).ends(0);
    let log = sarif(&ran.stdout);
    assert_eq!(log["runs"][0]["results"], json!([]));
    assert!(!log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().is_empty());
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], true);
}
