//! SARIF, as GitHub takes it.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};
use setguard_testing::recorded::snapshot;

use super::{repository, run_in, three};
use crate::{
    cli::{GOOD, MISSPELT},
    json_schema::sarif,
};

fn fingerprints(log: &Value) -> Vec<String> {
    let results = log["runs"][0]["results"].as_array().unwrap().iter();
    results
        .map(|it| it["partialFingerprints"]["setguard/v1"].as_str().unwrap().to_owned())
        .collect()
}

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

#[test]
fn what_could_not_be_checked_is_in_sarif() {
    let folder = repository([("a.yaml", "a: [\n")]);
    let ran = folder.run(&["check", "a.yaml", "nowhere.yaml", "--format", "sarif"]).ends(2);
    let log = sarif(&ran.stdout);
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 1);
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let message = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert!(message.as_str().unwrap().starts_with("nowhere.yaml: cannot be read"), "{message}");
}

#[test]
fn a_fingerprint_stays_when_lines_move() {
    let of = |text: &str| {
        let folder = repository([("a.yaml", text)]);
        fingerprints(&sarif(&folder.run(&["check", "a.yaml", "--format", "sarif"]).stdout))
    };
    let before = of(MISSPELT);
    assert_eq!(of(&format!("# moved\n\n---\n{GOOD}\n---\n# moved\n{MISSPELT}")), before);
    assert_ne!(of(&MISSPELT.replace("name: agent,", "name: other,")), before);
    // An object that occurs twice has two findings, and neither is lost.
    let twice = of(&format!("{MISSPELT}---\n{MISSPELT}"));
    assert_eq!(twice.iter().collect::<BTreeSet<_>>().len(), 2);
    assert_eq!(twice[0], before[0]);
}

#[test]
fn paths_begin_at_the_root_of_the_repository() {
    let folder = three();
    let outside = tempfile::tempdir().unwrap();
    let outside = fs::canonicalize(outside.path()).unwrap().join("o.yaml");
    fs::create_dir_all(outside.parent().unwrap()).unwrap();
    fs::write(&outside, MISSPELT).unwrap();
    let outside = outside.to_str().unwrap();
    let root = fs::canonicalize(folder.0.path()).unwrap();
    let paths = |below, files: &[&str], environment: &[(&str, &str)]| -> Vec<String> {
        let args = [&["check", "--format", "sarif"], files].concat();
        let log = sarif(&run_in(&folder, below, &args, environment).stdout);
        let results = log["runs"][0]["results"].as_array().unwrap().iter();
        let place =
            |it: &Value| it["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone();
        results.map(|it| place(it).as_str().unwrap().to_owned()).collect()
    };
    let both = ["deploy/a.yaml", "deploy/b%20c.yaml"];
    assert_eq!(paths("", &["deploy"], &[]), both);
    assert_eq!(paths("", &["./deploy/"], &[]), both);
    assert_eq!(paths("deploy", &["."], &[]), both);
    assert_eq!(paths("deploy", &["../deploy/a.yaml"], &[]), both[..1]);
    let absolute = root.join("deploy/a.yaml");
    assert_eq!(paths("deploy", &[absolute.to_str().unwrap()], &[]), both[..1]);
    assert_eq!(paths("", &[outside], &[]), [format!("file://{outside}")]);
    // Without .git, the pipeline says where the root is.
    fs::remove_dir_all(folder.0.path().join(".git")).unwrap();
    assert_eq!(paths("deploy", &["a.yaml"], &[]), ["a.yaml"]);
    let root = root.to_str().unwrap();
    for variable in ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"] {
        assert_eq!(paths("deploy", &["a.yaml"], &[(variable, root)]), both[..1]);
        assert_eq!(paths("deploy", &["a.yaml"], &[(variable, "/nowhere")]), ["a.yaml"]);
    }
}

#[test]
fn standard_input_can_have_a_name() {
    let folder = repository([]);
    let place = |args: &[&str]| {
        let args = [&["check", "-", "--format", "sarif"], args].concat();
        let log = sarif(&folder.feed(&args, MISSPELT.as_bytes()).stdout);
        log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            .clone()
    };
    assert_eq!(place(&[]), "stdin");
    assert_eq!(place(&["--stdin-path", "charts/agent"]), "charts/agent");
    folder
        .feed(&["check", "-", "--stdin-path", "charts/agent"], MISSPELT.as_bytes())
        .prints("--> charts/agent:5:3\n");
}
