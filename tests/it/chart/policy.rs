//! A policy in the chart's values: the program must accept every policy that the chart accepts. Otherwise no pod
//! starts, and the webhooks' failurePolicy blocks every write.

use super::{objects, of, template};
use crate::prelude::*;

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

#[test]
fn what_the_chart_accepts_the_program_accepts() {
    let Some(helm) = helm::find() else { return };
    let cases = include_str!("../../fixtures/chart/policies.jsonl").lines();
    assert_eq!(cases.clone().count(), 14 + 27);
    for case in cases {
        let (is_accepted, policy): (bool, Value) = serde_json::from_str(case).unwrap();
        assert_eq!(renders(&helm, &policy), is_accepted, "{policy}");
    }
}
