//! The manifests that server-side apply refuses regardless of the old object.

use std::{collections::HashSet, fmt::Write as _};

use serde_json::{Map, Value};
use setguard_core::{
    finding::{Field, Finding, Findings, Reason, Step},
    kubernetes::resource::Resource,
    rules::api_validation::API_VALIDATION,
};

use super::lists::{List, Lists};

/// Kubernetes: `structuredMergeManager.Apply`, apimachinery `pkg/util/managedfields/internal/structuredmerge.go`;
/// `visitListItems`, structured-merge-diff `typed/validate.go`.
pub(crate) fn by_server_side_apply(json: &str, resource: &Resource) -> Vec<Finding> {
    let Ok(manifest) = serde_json::from_str::<Value>(json) else { return Vec::new() };
    let mut walk = Walk { found: Findings::of(API_VALIDATION), steps: Vec::new() };
    if manifest["metadata"]["managedFields"].is_array() {
        let field = Field::of([Step::Child("metadata"), Step::Child("managedFields")]);
        let message = "must be nil: server-side apply refuses a manifest with managed fields";
        walk.found.report(field, Reason::Forbidden, message.to_owned(), "leave it out");
    }
    // A CustomResourceDefinition defines the list keys of its resources.
    if !resource.is_kruise() {
        walk.value("", "", &manifest);
    }
    walk.found.into_vec()
}

struct Walk<'a> {
    found: Findings,
    steps: Vec<Step<'a>>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, parent: &str, name: &str, value: &'a Value) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    self.steps.push(Step::Child(field));
                    self.value(name, field, value);
                    self.steps.pop();
                }
            }
            Value::Array(items) => {
                self.duplicates(Lists::ServerSide.list_in(parent, name), items);
                for (i, item) in items.iter().enumerate() {
                    self.steps.push(Step::Index(i));
                    self.value("", "", item);
                    self.steps.pop();
                }
            }
            _ => {}
        }
    }

    fn duplicates(&mut self, list: List, items: &'a [Value]) {
        let mut seen = HashSet::new();
        for (i, item) in items.iter().enumerate() {
            let Some(key) = list.key(item) else { continue };
            if !seen.insert(key.clone()) {
                let field = Field::of(self.steps.iter().copied().chain([Step::Index(i)]));
                let message = format!(
                    "duplicate entries for key {}: server-side apply refuses the manifest",
                    printed(&key)
                );
                self.found.report(field, Reason::Duplicate, message, "remove one of them");
            }
        }
    }
}

/// Returns a key in the API server's notation: `[name="a"]`, `[="a"]`.
fn printed(key: &str) -> String {
    let fields = key.strip_prefix("k:").and_then(|it| serde_json::from_str::<Map<_, _>>(it).ok());
    let Some(fields) = fields else { return format!("[={}]", key.trim_start_matches("v:")) };
    let mut text = String::new();
    for (name, value) in fields {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{name}={value}");
    }
    format!("[{text}]")
}
