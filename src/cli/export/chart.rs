//! The policies that the Helm chart renders, for each mode that a rule can have.

use setguard_core::{
    kubernetes::cluster::{Cluster, Version},
    rules::{
        in_cel,
        rule::{Cel, Rule},
    },
};

use super::{
    map,
    objects::{IN_DELETION, action},
    vap::{ignored, message, parts, resources},
};
use crate::cli::prelude::*;

/// Returns the policies as YAML, for `charts/setguard/files/policies.yaml`, or an error if they cannot be written as
/// YAML.
pub fn yaml() -> anyhow::Result<String> {
    let header = "# Written by the code: UPDATE_GENERATED=1 cargo test --test it generated\n";
    let policies = json!({
        "newest": Version::NEWEST.minor(),
        "inDeletion": IN_DELETION,
        // RULE stands for the id.
        "ignored": ignored("RULE"),
        "rules": in_cel().map(|(rule, cel)| of_rule(rule, cel)).collect::<Value>(),
        "injections": injections(),
    });
    let text = serde_saphyr::to_string(&policies)?;
    Ok(format!("{header}{}\n", text.trim_end()))
}

fn of_rule(rule: &Rule, cel: &Cel) -> Value {
    let message = message(rule, cel);
    let policies = |mode| {
        let one = parts(rule, cel, mode).into_iter().map(|part| {
            json!({
                "name": part.name,
                "operations": part.operations(),
                "expression": part.holds,
                "action": action(part.mode),
            })
        });
        one.collect::<Value>()
    };
    let mut found = json!({
        "id": rule.meta.id,
        "mode": rule.meta.mode,
        // Whether the policy finds everything that the rule finds.
        "whole": cel.is_whole(),
        // Whether it reports what the other policies miss.
        "long": cel.is_about_length(),
        "resources": resources(rule),
        "message": message.text,
        "deny": policies(Mode::Deny),
        "other": policies(Mode::Warn),
    });
    if let Some(expression) = message.expression {
        found["messageExpression"] = json!(expression);
    }
    if let Some(gate) = cel.gate {
        let minors = Version::OLDEST.minor()..=Version::NEWEST.minor();
        let is_on =
            |minor: &u32| Cluster::new(Version::of_minor(*minor), Default::default()).enabled(gate);
        found["gate"] = json!({ "name": gate, "on": minors.filter(is_on).collect::<Value>() });
    }
    found
}

/// The injections with their default settings, each with the chart's values that turn it off.
fn injections() -> Value {
    let objects = map::objects(&Policy::default(), "v1");
    let policies = objects.into_iter().filter(|object| object["spec"]["policyName"].is_null());
    let part = |name: &str| match name.split_once('.') {
        Some(("control-plane-tolerations", rest)) if rest.starts_with("namespace") => {
            "controlPlane"
        }
        Some(("control-plane-tolerations", _)) => "workloads",
        _ => "pods",
    };
    let policies = policies.map(|object| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let mut policy = json!({
            "name": name,
            "part": part(name),
            "kind": object["kind"],
            "spec": object["spec"],
        });
        let id = name.split('.').next().unwrap_or_default();
        if let Some(rule) = catalogue::find(id) {
            policy["rule"] = json!({ "id": id, "mode": rule.meta.mode });
        }
        policy
    });
    policies.collect()
}
