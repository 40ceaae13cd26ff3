use crate::observed::DaemonSet;
use crate::rules::prelude::*;

/// Returns the command that makes a DaemonSet tolerate a taint, `key=value:effect`.
pub(in crate::rules) fn add(query: &StatusQuery<'_>, set: &DaemonSet, taint: &str) -> Command {
    let (what, effect) = taint.rsplit_once(':').unwrap_or((taint, ""));
    let (key, value) = what.split_once('=').unwrap_or((what, ""));
    let toleration = if value.is_empty() {
        serde_json::json!({"key": key, "operator": "Exists", "effect": effect})
    } else {
        serde_json::json!({"key": key, "operator": "Equal", "value": value, "effect": effect})
    };
    let path = "/spec/template/spec/tolerations";
    let operation = if set.spec.template.placing.has_tolerations() {
        serde_json::json!({"op": "add", "path": format!("{path}/-"), "value": toleration})
    } else {
        serde_json::json!({"op": "add", "path": path, "value": [toleration]})
    };
    let patch = serde_json::json!([operation]).to_string();
    let effect = Effect::Restarts(positive(set.status.desired_number_scheduled));
    query.kubectl().does(effect, "patch", &[&query.target(), "--type", "json", "-p", &patch])
}
