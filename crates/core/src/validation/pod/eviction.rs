//! Programs that respond to the eviction of a pod. Kubernetes: `Validate_EvictionResponder` in
//! `pkg/apis/core/v1/zz_generated.validations.go`, and `validation.go` next to it.

use k8s_openapi::api::core::v1::EvictionResponder;
use serde_json::json;

use crate::validation::prelude::*;

const MOST: usize = 10;
const HIGHEST: i32 = 100_000;

pub(crate) fn validate(spec: &PodSpec, path: &At<'_>) {
    let responders = list(&spec.eviction_responders);
    if responders.len() > MOST {
        path.too_many(responders.len(), MOST);
        return;
    }
    let mut seen = Seen::new();
    for (responder, path) in path.items(responders) {
        if !seen.insert(responder.name.as_str()) {
            let priority = priority(responder);
            let value = json!({"name": responder.name, "priority": priority});
            path.duplicate(Value::json(&value));
        }
        name(&responder.name, &path.child("name"));
        match priority(responder) {
            None => path.child("priority").required(""),
            Some(priority) => limits(priority, &path.child("priority")),
        }
    }
}

/// Absent counts as 0, and 0 is invalid too.
fn priority(responder: &EvictionResponder) -> Option<i32> {
    Some(responder.priority).filter(|priority| *priority != 0)
}

fn name(name: &str, path: &At<'_>) {
    required(name, path);
    if name.is_empty() {
        return;
    }
    let domain = name.split('/').next().unwrap_or(name).to_lowercase();
    if is_reserved(domain.trim().trim_end_matches('.')) {
        path.invalid(name, "domain names *.k8s.io, *.kubernetes.io are reserved");
    }
    let wrong = names::label_key(name);
    if wrong.is_empty() && !name.contains('/') {
        path.invalid(name, "must include a prefix (e.g. 'example.com/key')");
    }
    each(wrong, name, path);
}

fn limits(priority: i32, path: &At<'_>) {
    if priority < 0 {
        path.invalid(priority, names::NOT_NEGATIVE);
    } else if priority < 1000 {
        path.invalid(priority, "priorities 0-999 are reserved for responders with *.k8s.io suffix");
    } else if priority > HIGHEST {
        path.invalid(priority, "must be less than or equal to 100000");
    }
}
