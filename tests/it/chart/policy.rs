//! A policy in the chart's values: the program must accept every policy that the chart accepts. Otherwise no pod
//! starts, and the webhooks' failurePolicy blocks every write.

use std::path::Path;

use serde_json::{Value, json};
use setguard::policy::Policy;

use super::{objects, of, template};
use crate::helm;

/// Whether the chart renders a policy. If so, the program must accept it.
fn renders(helm: &Path, policy: &Value) -> bool {
    let flag = format!("policy={policy}");
    let output = template(helm, &["--set-json", &flag, "-s", "templates/configmap.yaml"]);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("values don't meet the specifications"), "{policy}: {stderr}");
        return false;
    }
    let objects = objects(&String::from_utf8(output.stdout).unwrap());
    let [map] = of(&objects, "ConfigMap")[..] else { panic!("one ConfigMap") };
    let problems = Policy::parse(map["data"]["policy.yaml"].as_str().unwrap()).err();
    assert!(problems.is_none(), "the chart accepts {policy}: {problems:?}");
    true
}

fn exception(field: &str, value: Value) -> Value {
    let mut entry = json!({"rules": ["surge-host-port"], "reason": "drained one by one"});
    entry[field] = value;
    json!({"exceptions": [entry]})
}

#[allow(clippy::needless_pass_by_value, reason = "a json! in place reads better without &")]
fn toleration(toleration: Value) -> Value {
    json!({"injection": {"tolerations": [toleration]}})
}

#[test]
fn what_the_chart_accepts_the_program_accepts() {
    let Some(helm) = helm::find() else { return };
    let rules = |id: &str, mode: Value| json!({"rules": {id: mode}});
    let version = |version: Value| json!({"kubernetes": {"version": version}});
    let long = "a".repeat(64);
    let accepted = [
        rules("surge-host-port", json!("off")),
        exception("expires", json!("2027-03-31")),
        exception("expires", json!("2028-02-29")),
        exception("expires", json!(null)),
        exception("namespaces", json!(["in*"])),
        version(json!("1.33")),
        version(json!("v1.36.2-eks-1")),
        version(json!("1.37+")),
        json!({"kubernetes": {"featureGates": {"MaxUnavailableStatefulSet": true}}}),
        toleration(json!({"key": "example.com/role"})),
        toleration(json!({"key": "", "operator": "Exists", "effect": "NoExecute"})),
        toleration(json!({"key": "role", "operator": "Equal", "value": "db", "effect": null})),
        toleration(json!({"key": "role", "operator": "Equal"})),
    ];
    let refused = [
        rules("surge-host-prot", json!("off")),
        rules("api-validation", json!("warn")),
        rules("surge-host-port", json!(false)),
        exception("rules", json!([])),
        exception("rules", json!(["node-pin-conflict"])),
        exception("rules", json!(["no-such-rule"])),
        exception("reason", json!("")),
        exception("reason", json!("  ")),
        exception("expires", json!("31.12.2027")),
        exception("expires", json!("2027-02-29")),
        exception("expires", json!("2027-04-31")),
        exception("expires", json!("2027-3-1")),
        exception("until", json!("2027-03-31")),
        version(json!("1.32")),
        version(json!("1.99")),
        version(json!("1")),
        version(json!(1.36)),
        json!({"kubernetes": {"featureGates": {"MaxUnavailableStatefulSets": true}}}),
        toleration(json!({"key": "role", "effect": "noschedule"})),
        toleration(json!({"key": "role", "operator": "exists"})),
        toleration(json!({"key": "role", "value": "db"})),
        toleration(json!({"key": "", "operator": "Equal", "value": "db"})),
        toleration(json!({"key": "role/"})),
        toleration(json!({"key": long})),
        toleration(json!({"key": "Example.com/role"})),
        toleration(json!({"key": "role", "operator": "Equal", "value": long})),
        toleration(json!({"key": "role", "operator": "Equal", "value": "a b"})),
    ];
    for policy in accepted {
        assert!(renders(&helm, &policy), "refused: {policy}");
    }
    for policy in refused {
        assert!(!renders(&helm, &policy), "accepted: {policy}");
    }
}
