//! The effect of releases and feature gates on findings.
#![allow(clippy::needless_pass_by_value, reason = "a json! in place reads better without &")]

use setguard::{
    kubernetes::cluster::{ApiServer, parse_gates},
    object::storage::Storage,
};

use crate::prelude::*;

const RELEASES: [&str; 5] = ["1.33", "1.34", "1.35", "1.36", "1.37"];

/// The page documents the basis of `--kube-version`.
#[test]
fn each_release_has_a_row_in_the_support_table() {
    let page = include_str!("../../docs/support.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| 1."));
    let named: Vec<_> = rows.map(|row| format!("1.{}", row.split(' ').next().unwrap())).collect();
    for minor in Version::OLDEST.minor()..=Version::NEWEST.minor() {
        assert!(named.contains(&format!("1.{minor}")), "1.{minor} is not among {named:?}");
    }
}

fn answer(policy: &Policy, strategy: &str) -> Value {
    let mut object = set("StatefulSet");
    object["metadata"]["namespace"] = json!("default");
    object["spec"]["updateStrategy"] = json!({ "type": strategy });
    let cx = Context::of_review(policy, jiff::civil::date(2026, 1, 1));
    response(json!({"namespace": "default", "object": object}), &cx)
}

/// The API server accepted the object, so its release or gates differ from the known ones.
#[test]
fn an_error_that_depends_on_the_cluster_does_not_deny_what_the_api_server_accepts() {
    let mut policy = Policy::default();
    assert_eq!(answer(&policy, "Recreate")["allowed"], false, "no API server is known");
    policy.cluster.api_server = ApiServer::Known;
    let recreate = answer(&policy, "Recreate");
    assert_eq!(recreate["allowed"], true, "{recreate}");
    let warning = recreate["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("api-validation: spec.updateStrategy: "), "{warning}");
    assert!(warning.ends_with("in the policy, or use a newer setguard"), "{warning}");
    assert_eq!(answer(&policy, "Other")["allowed"], false, "no release has it");
    policy.cluster.api_server = ApiServer::Newer;
    let other = answer(&policy, "Other");
    assert_eq!(other["allowed"], true, "a release that is not known yet may have it: {other}");
}

/// kubectl already shows the API server's warning.
#[test]
fn a_webhook_is_silent_about_what_the_api_server_warns_of_unless_it_denies_it() {
    let of_memory = json!({"resources": {"limits": {"memory": "512m"}}});
    let object: Value = serde_json::from_str(&patched("DaemonSet", &container(of_memory))).unwrap();
    let answer = |policy: &str| {
        let policy = Policy::parse(policy).unwrap();
        let cx = Context::of_review(&policy, jiff::civil::date(2026, 1, 1));
        response(json!({"namespace": "default", "object": object}), &cx)
    };
    let header = "apiVersion: setguard.io/v1alpha1\nkind: Policy\n";
    let silent = answer(header);
    assert_eq!(silent["allowed"], true, "{silent}");
    assert!(!silent.to_string().contains("fractional"), "{silent}");
    let denied = answer(&format!("{header}rules: {{api-warning: deny}}\n"));
    assert_eq!(denied["allowed"], false, "{denied}");
}

fn set(kind: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "a", "image": "registry.example.com/a:1.0"}]},
            },
        },
    })
}

fn patched(kind: &str, spec: &Value) -> String {
    let mut object = set(kind);
    json_patch::merge(&mut object["spec"], spec);
    object.to_string()
}

fn in_template(spec: Value) -> Value {
    json!({"template": {"spec": spec}})
}

/// A spec with a container that has a name, an image and these fields.
fn container(fields: Value) -> Value {
    let mut container = set("DaemonSet")["spec"]["template"]["spec"]["containers"][0].clone();
    json_patch::merge(&mut container, &fields);
    in_template(json!({"containers": [container]}))
}

fn refusing(json: &str, gates: &str) -> Vec<&'static str> {
    let refuses = |release: &&str| {
        let cluster = Cluster::new(release.parse().unwrap(), parse_gates(gates).unwrap());
        support::evaluate_in(json, None, &cluster, &Storage::default())
            .iter()
            .any(|found| found.rule.ends_with("-validation") && found.mode == "deny")
    };
    RELEASES.into_iter().filter(refuses).collect()
}

/// A kind, a change of its spec, feature gates, and the releases that refuse it. Without gates, `conformance.rs`
/// compares the refusals.
type Case = (&'static str, Value, &'static str, &'static [&'static str]);

#[test]
fn each_release_refuses_only_what_it_validates_with_these_gates() {
    let (daemon, stateful) = ("DaemonSet", "StatefulSet");
    let rolling = |value: u8| json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": value}}});
    let recreate =
        |rolling: Value| json!({"updateStrategy": {"type": "Recreate", "rollingUpdate": rolling}});
    let (gate, recreates) = ("MaxUnavailableStatefulSet=true", "StatefulSetRecreateStrategy=true");
    let host_name = || in_template(json!({"hostnameOverride": "A_B"}));
    let bad_image = json!({"name": "v", "image": {"reference": "a", "pullPolicy": "Other"}});
    let sleepy = json!({"lifecycle": {"preStop": {"sleep": {"seconds": 0}}}});
    let cases: [Case; 8] = [
        (stateful, rolling(0), gate, &RELEASES),
        (stateful, rolling(1), gate, &[]),
        (stateful, recreate(json!(null)), recreates, &RELEASES[..4]),
        (stateful, recreate(json!({"partition": 1})), recreates, &RELEASES),
        // Fields behind a gate: the API server drops them if it is off, and validates them if it is on.
        (daemon, host_name(), "HostnameOverride=false", &[]),
        (daemon, host_name(), "HostnameOverride=true", &RELEASES),
        (daemon, in_template(json!({"volumes": [bad_image]})), "ImageVolume=false", &[]),
        (daemon, container(sleepy), "PodLifecycleSleepActionAllowZero=false", &RELEASES),
    ];
    for (kind, spec, gates, expected) in cases {
        let json = patched(kind, &spec);
        assert_eq!(refusing(&json, gates), expected, "with {gates:?}: {json}");
    }
}
