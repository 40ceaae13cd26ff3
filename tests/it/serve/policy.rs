//! The policy file of a server, at the start and after changes.

use std::os::unix::fs::symlink;

use super::daemon;
use crate::prelude::*;

fn policy(unpaired: &str) -> String {
    format!(
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\ninjection:\n  \
         unpairedAnnotation: {unpaired}\n"
    )
}

#[test]
fn a_changed_policy_is_loaded_and_a_wrong_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.yaml");
    fs::write(&file, policy("warn")).unwrap();
    let (daemon, client) = daemon(&["--policy", file.to_str().unwrap()]);
    let mut stream = client.connect(daemon.webhook).unwrap();
    let mut allowed = || {
        let reply = post(&mut stream, "/mutate", &review("mutate/pod-of-nobody-paired"));
        reply.json()["response"]["allowed"].as_bool().unwrap()
    };
    assert!(allowed());

    fs::write(&file, policy("perhaps")).unwrap();
    let (before, _) =
        daemon.logs_until("the changed policy cannot be used; the old one stays in force");
    let at = format!("{}:4:23: injection.unpairedAnnotation", file.display());
    assert!(before.iter().any(|line| line.contains(&at)), "no {at} in {before:#?}");
    daemon.measured(r#"setguard_policy_reloads_total{result="failure"} 1"#);
    daemon.measured("setguard_policy_last_reload_successful 0");
    assert!(allowed());

    fs::write(&file, policy("deny")).unwrap();
    eventually("the new policy", || (!allowed()).then_some(()));
    daemon.measured(r#"setguard_policy_reloads_total{result="success"} 1"#);
    daemon.measured("setguard_policy_last_reload_successful 1");
}

/// Issue 33: after a bad edit of the ConfigMap, every pod that starts would fail.
#[test]
fn an_invalid_policy_at_the_start_only_warns_if_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.yaml");
    fs::write(&file, policy("perhaps")).unwrap();
    let flags = ["--policy", file.to_str().unwrap(), "--if-policy-invalid=warn"];
    let (daemon, client) = daemon(&flags);
    let fallback = |is: u8| {
        daemon.measured(&format!("setguard_policy_fallback {is}"));
        daemon.measured(&format!("setguard_policy_last_reload_successful {}", 1 - is));
    };
    fallback(1);
    daemon.measured(r#"setguard_policy_reloads_total{result="failure"} 1"#);
    let mut bad: Value = serde_json::from_str(&review("validate/statefulset-create")).unwrap();
    bad["request"]["object"]["metadata"]["name"] = json!("a".repeat(57));
    let mut stream = client.connect(daemon.webhook).unwrap();
    let mut answer = || post(&mut stream, "/validate", &bad.to_string()).json()["response"].take();
    let response = answer();
    assert_eq!(response["allowed"], true, "{response}");
    let warnings = response["warnings"].to_string();
    for expected in ["setguard: the policy cannot be used", "name-too-long"] {
        assert!(warnings.contains(expected), "{warnings}");
    }

    fs::write(&file, policy("deny")).unwrap();
    eventually("the policy", || (answer()["allowed"] == false).then_some(()));
    fallback(0);
    // The last valid policy stays in force.
    fs::write(&file, policy("perhaps")).unwrap();
    daemon.logs_until("the changed policy cannot be used; the old one stays in force");
    assert_eq!(answer()["allowed"], false);
    daemon.measured("setguard_policy_fallback 0");
    daemon.measured("setguard_policy_last_reload_successful 0");
}

#[test]
fn a_pipe_a_device_or_a_huge_file_as_policy_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let file = path("policy.yaml");
    fs::write(&file, policy("warn")).unwrap();
    let (daemon, _) = daemon(&["--policy", file.to_str().unwrap()]);

    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    symlink("/dev/zero", path("device")).unwrap();
    fs::write(path("huge"), "#".repeat((1 << 20) + 1)).unwrap();
    let wrong = ["pipe", "device", "huge"];
    for (i, name) in wrong.iter().enumerate() {
        fs::write(path("good"), policy("deny")).unwrap();
        fs::rename(path(name), &file).unwrap();
        let line = daemon.logged("the changed policy cannot be used; the old one stays in force");
        let what = if *name == "huge" { "larger than 1048576 bytes" } else { "a regular file" };
        assert!(line["fields"]["error"].to_string().contains(what), "{line}");
        daemon.measured("setguard_policy_last_reload_successful 0");
        // setguard must still pick up a readable file.
        fs::rename(path("good"), &file).unwrap();
        daemon.measured(&format!(r#"setguard_policy_reloads_total{{result="success"}} {}"#, i + 1));
    }
}
