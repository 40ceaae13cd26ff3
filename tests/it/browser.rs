//! The commands of a program without files. `examples/browser/test` compares them with the command line on all
//! fixtures in a browser engine; these tests need no browser.

use setguard::browser::{self, Inputs};

use crate::prelude::*;

fn setguard(args: &[&str]) -> Value {
    serde_json::from_str(&setguard_text(args)).unwrap()
}

fn setguard_text(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    let output = command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn inputs(json: &Value) -> Inputs {
    Inputs::parse(&json.to_string()).unwrap()
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

const AFTER: &str = "examples/plan/after/db.yaml";
const BEFORE: &str = "examples/plan/before/db.yaml";

#[test]
fn a_text_is_checked_as_its_file_is() {
    let (mut denied, mut warned) = (0, 0);
    for entry in fs::read_dir("examples/manifests").unwrap() {
        let path = entry.unwrap().path();
        let file = path.to_str().unwrap();
        let args = ["check", file, "--no-config", "--format", "json", "--kube-version", "1.34"];
        let found = inputs(&json!({ "file": file, "release": "1.34" }))
            .check(&fs::read_to_string(&path).unwrap())
            .unwrap();
        let (found, expected) = (parse(&found), setguard(&args));
        assert_eq!(found["report"], expected, "{file}");
        denied += expected["summary"]["denied"].as_u64().unwrap();
        warned += expected["summary"]["warned"].as_u64().unwrap();
    }
    assert!(denied > 3 && warned > 0, "{denied} {warned}");
}

#[test]
fn the_plan_of_texts_is_the_plan_of_their_files() {
    let (after, before) = (fs::read_to_string(AFTER).unwrap(), fs::read_to_string(BEFORE).unwrap());
    let args = ["plan", AFTER, "--against", BEFORE, "--format", "json", "--never-ready", "db-4"];
    let given = inputs(&json!({ "before": before, "neverReady": ["db-4"] }));
    let found = parse(&given.plan(&after).unwrap());
    assert_eq!(found["plan"], setguard(&args));
    assert_eq!(found["plan"]["objects"][0]["summary"]["stopsAt"], "db-4");
    assert_eq!(found["failures"], json!([]));
    // In the words of the text.
    let (words, text) = (
        &found["words"][0],
        setguard_text(&["plan", AFTER, "--against", BEFORE, "--never-ready", "db-4"]),
    );
    let groups = ["change", "rollout", "end"].map(|it| words[it].as_array().unwrap());
    for line in groups.into_iter().flatten() {
        let pieces = line.as_array().unwrap().iter().map(|it| it[1].as_str().unwrap());
        let line =
            pieces.collect::<String>().replace('●', "*").replace('○', "=").replace('→', "->");
        assert!(text.contains(&line), "{line}\n{text}");
    }
    assert!(
        groups.iter().all(|it| !it.is_empty())
            && text.contains(words["settings"].as_str().unwrap()),
        "{words}"
    );
}

#[test]
fn nodes_are_known_to_both() {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": "a", "labels": { "kubernetes.io/os": "linux" } },
    });
    let daemon = include_str!("../fixtures/good/fluentd-daemonset.yaml");
    let given = || inputs(&json!({ "cluster": node.to_string() }));
    let plan = parse(&given().plan(daemon).unwrap());
    assert_eq!(plan["plan"]["objects"][0]["steps"][0]["node"], "a", "{plan}");
    let daemon = daemon.replace("    spec:\n", "    spec:\n      nodeSelector: {disk: ssd}\n");
    let checked = given().check(&daemon).unwrap();
    assert!(checked.contains("no-node-matches"), "{checked}");
}

/// Positions follow JavaScript: the crab has four bytes, but two UTF-16 units.
#[test]
fn a_fix_edits_units_of_utf_16() {
    let text = include_str!(
        "../../crates/core/src/rules/on_delete_ignores_rolling_update/cases/warn.surge.yaml"
    );
    let text = text.replacen('#', "# 🦀", 1);
    let checked = parse(&Inputs::default().check(&text).unwrap());
    let mut units: Vec<u16> = text.encode_utf16().collect();
    let edit = &checked["fixes"][0]["edits"][0];
    let at = |key: &str| usize::try_from(edit[key].as_u64().unwrap()).unwrap();
    let insert = edit["insert"].as_str().unwrap().encode_utf16();
    units.splice(at("from")..at("to"), insert);
    let fixed = String::from_utf16(&units).unwrap();
    assert_eq!(parse(&Inputs::default().check(&fixed).unwrap())["fixes"], json!([]));
    assert_eq!(fixed, Inputs::default().fix(&text).unwrap());
    assert_ne!(fixed, text);
}

#[test]
fn wrong_inputs_and_unreadable_texts_are_reported() {
    assert!(Inputs::parse("{\"releas\": \"1.36\"}").is_err());
    let wrong = inputs(&json!({ "release": "1.2" })).check("").unwrap_err();
    assert!(wrong.contains("not supported"), "{wrong}");
    let wrong = inputs(&json!({ "policy": "kind: Policy" })).check("").unwrap_err();
    assert!(wrong.contains("apiVersion"), "{wrong}");
    for cluster in [false, true] {
        let given = match cluster {
            true => json!({ "cluster": "a: [" }),
            false => json!({ "before": "a: [" }),
        };
        let found = parse(&inputs(&given).check("").unwrap());
        assert!(found["failures"][0].as_str().unwrap().contains(":1:"), "{found}");
        let found = parse(&inputs(&given).plan("").unwrap());
        assert!(found["failures"][0].as_str().unwrap().contains(":1:"), "{found}");
    }
}

#[test]
fn rules_are_explained_and_releases_are_listed() {
    let rule = parse(&browser::explain("surge-host-port").unwrap());
    assert_eq!((&rule["id"], &rule["mode"]), (&json!("surge-host-port"), &json!("deny")));
    assert!(rule["bad"].as_str().unwrap().contains("maxSurge"), "{rule}");
    assert_eq!(browser::explain("no-such-rule"), None);
    let releases = browser::releases();
    assert!(releases.len() > 3 && releases[0] > releases[1], "{releases:?}");
}
