//! The workflows of GitHub: text that nothing runs here.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use setguard::kubernetes::cluster::Version;

use crate::support;

fn github(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&support::to_json(&text)[0]).unwrap()
}

/// The workflows by their file names.
fn workflows() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.map(|name| (name.clone(), github(&format!("workflows/{name}")))).collect()
}

fn steps(workflow: &Value) -> Vec<&Value> {
    let jobs = workflow["jobs"].as_object().unwrap().values();
    jobs.flat_map(|job| job["steps"].as_array().unwrap()).collect()
}

/// A tag can be moved, a commit cannot.
#[test]
fn actions_are_pinned_to_commits_and_get_no_rights_by_default() {
    for (name, workflow) in workflows() {
        for action in steps(&workflow).into_iter().filter_map(|step| step["uses"].as_str()) {
            let commit = action.split_once('@').unwrap().1;
            let is_hash = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_hash, "{name}: {action}");
        }
        assert_eq!(workflow["permissions"], serde_json::json!({}), "{name}");
    }
}

#[test]
fn the_end_to_end_tests_run_on_each_release() {
    let test = github("workflows/test.yaml");
    let runs = test["jobs"]["e2e"]["strategy"]["matrix"]["include"].as_array().unwrap();
    let releases: Vec<_> = runs.iter().map(|run| run["kubernetes"].as_str().unwrap()).collect();
    let all = Version::OLDEST.minor()..=Version::NEWEST.minor();
    assert_eq!(releases, all.map(|minor| format!("1.{minor}")).collect::<Vec<_>>());
}

#[test]
fn advisories_are_looked_up_every_week() {
    let weekly: Vec<Value> = workflows()
        .into_values()
        .filter(|workflow| {
            // The key is `on`, which kubectl's YAML 1.1 reads as a truth value.
            let crons = workflow["true"]["schedule"].as_array().into_iter().flatten();
            crons.filter_map(|it| it["cron"].as_str()).any(|cron| cron.ends_with(" * * 1"))
        })
        .collect();
    let runs = |command: &str| {
        let mut steps = weekly.iter().flat_map(steps);
        steps.any(|step| step["run"].as_str().is_some_and(|run| run.contains(command)))
    };
    assert!(runs("cargo deny --locked --workspace check advisories"), "of the crates");
    assert!(runs("grype"), "of the image");
    let updates = github("dependabot.yml");
    let updates = updates["updates"].as_array().unwrap();
    let of: Vec<_> = updates.iter().map(|it| it["package-ecosystem"].as_str().unwrap()).collect();
    assert_eq!(of, ["cargo", "github-actions", "docker"]);
}

/// A user who asks for the latest release must not get a candidate.
#[test]
fn a_candidate_for_a_release_is_a_pre_release() {
    let release = github("workflows/release.yaml");
    let is_asked = |step: &&Value| step["run"].as_str().is_some_and(|it| it.contains("gh release"));
    let step = steps(&release).into_iter().find(is_asked).unwrap()["run"].as_str().unwrap();
    assert!(
        step.contains(r#"if [[ "$VERSION" == *-* ]]; then prerelease=(--prerelease"#),
        "{step}"
    );
    assert!(step.contains(r#""${prerelease[@]}""#), "{step}");
}

/// cosign 2 writes another format into `SHA256SUMS.sigstore.json`.
#[test]
fn signatures_are_sigstore_bundles() {
    let release = github("workflows/release.yaml");
    assert!(release["env"]["COSIGN"].as_str().unwrap().starts_with("v3."));
    let installs: Vec<_> = steps(&release)
        .into_iter()
        .filter(|step| step["uses"].as_str().is_some_and(|it| it.contains("/cosign-installer@")))
        .collect();
    assert_eq!(installs.len(), 3);
    for step in installs {
        assert_eq!(step["with"]["cosign-release"], "${{ env.COSIGN }}", "{step}");
    }
}
