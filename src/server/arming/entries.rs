//! Compares the rules of a webhook configuration with the rules that it should have. Does no I/O.

use json_patch::{
    AddOperation, Patch as JsonPatch, PatchOperation, TestOperation, jsonptr::PointerBuf,
};
use serde_json::{Map, Value, json};

use crate::object::marks::{RULES_ANNOTATION as RULES, SIBLING_ANNOTATION};

/// Returns the patch that gives the webhooks of this configuration their rules. `None` if all of
/// them have their rules, or if there is no annotation: then the author of the configuration wrote
/// the rules into it.
///
/// The API server rejects the patch if the configuration has changed since it was read.
///
/// # Errors
/// Returns an error if the annotation cannot be read.
pub(crate) fn patch(configuration: &Value) -> Result<Option<JsonPatch>, String> {
    let metadata = &configuration["metadata"];
    let Some(wanted) = wanted(configuration)? else { return Ok(None) };
    let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    let writes = webhooks.enumerate().filter_map(|(i, webhook)| {
        let rules = complete(wanted.get(webhook["name"].as_str()?)?);
        let has = webhook.get("rules").unwrap_or(&Value::Null);
        (*has != rules).then(|| {
            let path = PointerBuf::from_tokens(["webhooks", &i.to_string(), "rules"]);
            // "add" replaces an existing value.
            PatchOperation::Add(AddOperation { path, value: rules })
        })
    });
    let writes: Vec<_> = writes.collect();
    if writes.is_empty() {
        return Ok(None);
    }
    let test = TestOperation {
        path: PointerBuf::from_tokens(["metadata", "resourceVersion"]),
        value: json!(metadata["resourceVersion"]),
    };
    let test = PatchOperation::Test(test);
    Ok(Some(JsonPatch([test].into_iter().chain(writes).collect())))
}

/// Returns the rules that the annotation lists, by the names of the webhooks. `None` if there is no annotation.
fn wanted(configuration: &Value) -> Result<Option<Map<String, Value>>, String> {
    let Some(text) = configuration["metadata"]["annotations"][RULES].as_str() else {
        return Ok(None);
    };
    serde_json::from_str(text).map(Some).map_err(|error| format!("annotation {RULES}: {error}"))
}

/// Returns whether setguard writes the rules of this configuration.
pub(crate) fn is_annotated(configuration: &Value) -> bool {
    configuration["metadata"]["annotations"][RULES].is_string()
}

/// Returns whether a configuration of this kind was installed together with this one.
pub(crate) fn has_sibling(configuration: &Value, kind: &str) -> bool {
    configuration["metadata"]["annotations"][SIBLING_ANNOTATION] == kind
}

/// Returns the webhooks that the annotation names and that this configuration lacks, because they were removed.
pub(crate) fn missing(configuration: &Value) -> Vec<String> {
    let wanted = wanted(configuration).ok().flatten().unwrap_or_default();
    let webhooks: Vec<_> = configuration["webhooks"].as_array().into_iter().flatten().collect();
    let is_there = |name: &str| webhooks.iter().any(|webhook| webhook["name"] == name);
    wanted.into_iter().map(|(name, _)| name).filter(|name| !is_there(name)).collect()
}

/// Returns whether each webhook of this configuration has rules.
pub(crate) fn have_rules(configuration: &Value) -> bool {
    let mut webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    webhooks.all(|webhook| webhook["rules"].as_array().is_some_and(|rules| !rules.is_empty()))
}

/// The rules as the API server stores them.
///
/// Kubernetes: `SetDefaults_RuleWithOperations`, `pkg/apis/admissionregistration/v1/defaults.go`.
fn complete(rules: &Value) -> Value {
    let mut rules = rules.clone();
    for rule in rules.as_array_mut().into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.entry("scope").or_insert_with(|| json!("*"));
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(annotation: &str, rules: &Value) -> Value {
        json!({
            "metadata": { "resourceVersion": "7", "annotations": { RULES: annotation } },
            "webhooks": [
                { "name": "rehearsal.validate.setguard.io", "rules": [{ "resources": ["other"] }] },
                { "name": "validate.setguard.io", "rules": rules },
            ],
        })
    }

    #[test]
    fn a_webhook_gets_the_rules_of_the_annotation_and_no_others() {
        let rules = json!([{ "resources": ["daemonsets"], "scope": "Namespaced" }]);
        let text = json!({ "validate.setguard.io": rules, "gone": [] }).to_string();
        for has in [Value::Null, json!([]), json!([{ "resources": ["pods"] }])] {
            let patch = patch(&configuration(&text, &has)).unwrap().unwrap();
            let expected = json!([
                { "op": "test", "path": "/metadata/resourceVersion", "value": "7" },
                { "op": "add", "path": "/webhooks/1/rules", "value": rules },
            ]);
            assert_eq!(serde_json::to_value(patch).unwrap(), expected);
        }
        assert_eq!(patch(&configuration(&text, &rules)).unwrap(), None);
    }

    #[test]
    fn defaults_of_the_api_server_are_not_a_difference() {
        let text = r#"{"validate.setguard.io": [{"resources": ["daemonsets"]}]}"#;
        let stored = json!([{ "resources": ["daemonsets"], "scope": "*" }]);
        assert_eq!(patch(&configuration(text, &stored)).unwrap(), None);
    }

    #[test]
    fn a_webhook_that_was_removed_is_missing() {
        let text = r#"{"validate.setguard.io": [], "create.validate.setguard.io": []}"#;
        let read = configuration(text, &json!([]));
        assert_eq!(missing(&read), ["create.validate.setguard.io"]);
        for text in ["{}", "no JSON"] {
            assert!(missing(&configuration(text, &json!([]))).is_empty(), "{text}");
        }
        let kind = "ValidatingWebhookConfiguration";
        let read = json!({ "metadata": { "annotations": { SIBLING_ANNOTATION: kind } } });
        assert!(has_sibling(&read, kind) && !has_sibling(&read, "MutatingWebhookConfiguration"));
    }

    #[test]
    fn a_configuration_without_the_annotation_is_left_alone() {
        let bare = json!({ "webhooks": [{ "name": "a" }] });
        assert_eq!(patch(&bare).unwrap(), None);
        assert!(!have_rules(&bare), "a configuration without rules is not armed");
        assert!(have_rules(&json!({ "webhooks": [{ "name": "a", "rules": [{}] }] })));
        let error = patch(&configuration("[]", &json!([]))).unwrap_err();
        assert!(error.starts_with("annotation setguard.io/rules: "), "{error}");
    }
}
