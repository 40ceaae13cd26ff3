//! Compares a webhook configuration with its annotation, where the chart records each webhook as it should be. Does
//! no I/O.
//!
//! Anybody who may write the configuration can change what setguard receives: a selector that selects nothing, a match
//! condition that is never true, a different address. The configuration still has its rules then, but nothing is
//! checked.

use std::{collections::BTreeSet, fmt};

use serde_json::{Map, Value, json};
use setguard_core::object::annotations::{SIBLING_ANNOTATION, WEBHOOKS_ANNOTATION};
use setguard_files::report::fingerprint::digest;

/// The field that setguard restores. All others belong to the chart and to administrators.
const RULES: &str = "rules";

/// A webhook configuration, compared with its annotation.
#[derive(Debug, PartialEq)]
pub struct Compared {
    /// The webhooks whose rules differ, by index, with the right rules.
    pub rules: Vec<(usize, Value)>,
    /// All other differences.
    pub foreign: Vec<Foreign>,
    /// A JSON patch that restores the fields of the existing webhooks.
    remedy: Vec<Value>,
}

/// A webhook that differs from the annotation.
#[derive(Debug, PartialEq)]
pub enum Foreign {
    /// The configuration lacks the webhook.
    Missing(String),
    /// The annotation does not contain the webhook.
    Added(String),
    /// These fields of the webhook differ.
    Changed(String, BTreeSet<String>),
    /// The annotation itself is not the one that the chart wrote.
    Annotation,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Foreign::Missing(webhook) => write!(f, "{webhook} is missing"),
            Foreign::Added(webhook) => write!(f, "{webhook} was added"),
            Foreign::Annotation => write!(
                f,
                "its annotation {WEBHOOKS_ANNOTATION} is not the one that the chart wrote"
            ),
            Foreign::Changed(webhook, fields) => {
                let fields: Vec<_> = fields.iter().map(String::as_str).collect();
                write!(f, "{webhook} has another {}", fields.join(" and "))
            }
        }
    }
}

/// Compares a configuration from the API server with its annotation, and this with the SHA-256 of each annotation that
/// the chart wrote: a client that changes the annotation together with the webhooks cannot change these. Without them,
/// the annotation counts as it is. Fails if the annotation does not exist or cannot be parsed.
pub fn compare(configuration: &Value, annotations: &[String]) -> Result<Compared, String> {
    let mut compared = compare_webhooks(configuration)?;
    let is_known = |annotation| annotations.contains(&digest(annotation));
    if !annotations.is_empty() && !as_written(configuration).is_some_and(is_known) {
        compared.foreign.push(Foreign::Annotation);
    }
    Ok(compared)
}

fn compare_webhooks(configuration: &Value) -> Result<Compared, String> {
    let wanted = wanted(configuration)?;
    let webhooks: Vec<_> = configuration["webhooks"].as_array().into_iter().flatten().collect();
    let mut compared = Compared { rules: Vec::new(), foreign: Vec::new(), remedy: Vec::new() };
    for entry in &wanted {
        let name = text(&entry["name"]);
        let Some(i) = webhooks.iter().position(|it| it["name"] == entry["name"]) else {
            compared.foreign.push(Foreign::Missing(name));
            continue;
        };
        let (wants, has) = (fields(entry), fields(webhooks[i]));
        let keys: BTreeSet<&String> = wants.keys().chain(has.keys()).collect();
        let mut changed = BTreeSet::new();
        for field in keys.into_iter().filter(|it| wants.get(*it) != has.get(*it)) {
            let path = pointer(i, field);
            compared.remedy.push(match wants.get(field) {
                // The chart leaves the caBundle to setguard.
                None if field == BUNDLE => continue,
                None => json!({ "op": "remove", "path": path }),
                Some(value) if field == RULES => {
                    compared.rules.push((i, value.clone()));
                    continue;
                }
                Some(value) => json!({ "op": "add", "path": path, "value": value }),
            });
            changed.insert(field.clone());
        }
        if !changed.is_empty() {
            compared.foreign.push(Foreign::Changed(name, changed));
        }
    }
    let is_wanted = |webhook: &&&Value| wanted.iter().any(|it| it["name"] == webhook["name"]);
    let added = webhooks.iter().filter(|it| !is_wanted(it)).map(|it| text(&it["name"]));
    compared.foreign.extend(added.map(Foreign::Added));
    Ok(compared)
}

impl Compared {
    /// Returns whether all webhooks exist and have their rules.
    pub fn has_rules(&self) -> bool {
        let is_missing = |it: &Foreign| matches!(it, Foreign::Missing(_));
        self.rules.is_empty() && !self.foreign.iter().any(is_missing)
    }

    /// Returns whether the configuration equals its annotation.
    pub fn is_as_written(&self) -> bool {
        self.rules.is_empty() && self.foreign.is_empty()
    }

    /// Describes the differences other than the rules, and how to restore the configuration.
    pub fn say(&self, kind: &str, name: &str) -> Option<String> {
        if self.foreign.is_empty() {
            return None;
        }
        let all: Vec<_> = self.foreign.iter().map(ToString::to_string).collect();
        let mut said = format!(
            "{kind} {name} is not as the chart wrote it: {}. Requests that setguard should check may not be sent \
             to it",
            all.join("; ")
        );
        if !self.remedy.is_empty() {
            let patch = Value::from(self.remedy.clone()).to_string().replace('\'', r"'\''");
            let kind = kind.to_lowercase();
            said.push_str(&format!(
                "; this restores the fields: kubectl patch {kind} {name} --type=json --patch='{patch}'"
            ));
        }
        if self.foreign.contains(&Foreign::Annotation) {
            said.push_str(
                "; helm upgrade, with --force-conflicts in Helm 4, restores the annotation. Check again afterwards: \
                 the webhooks may still have fields that somebody has added",
            );
        }
        let is_other = |it: &Foreign| matches!(it, Foreign::Missing(_) | Foreign::Added(_));
        if self.foreign.iter().any(is_other) {
            said.push_str(
                "; to restore the webhooks, delete the configuration and run helm upgrade",
            );
        }
        Some(said)
    }
}

/// Returns whether a configuration of this kind was installed with this one.
pub fn has_sibling(configuration: &Value, kind: &str) -> bool {
    annotation(configuration, SIBLING_ANNOTATION) == Some(kind)
}

/// Returns the annotation that records the webhooks as they should be.
pub fn as_written(configuration: &Value) -> Option<&str> {
    annotation(configuration, WEBHOOKS_ANNOTATION)
}

fn annotation<'a>(configuration: &'a Value, key: &str) -> Option<&'a str> {
    configuration["metadata"]["annotations"][key].as_str()
}

fn wanted(configuration: &Value) -> Result<Vec<Value>, String> {
    let Some(text) = as_written(configuration) else {
        return Err(format!(
            "it has no annotation {WEBHOOKS_ANNOTATION}, which says how its webhooks should be: helm upgrade \
             writes it"
        ));
    };
    serde_json::from_str(text).map_err(|error| format!("annotation {WEBHOOKS_ANNOTATION}: {error}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// setguard or cert-manager writes this field, unless the chart does.
const BUNDLE: &str = "clientConfig.caBundle";

/// Returns the fields of a webhook with the API server's defaults. The fields of `clientConfig` are flattened.
///
/// Kubernetes: `SetDefaults_ValidatingWebhook` and its neighbors, `pkg/apis/admissionregistration/v1/defaults.go`.
fn fields(webhook: &Value) -> Map<String, Value> {
    let mut fields = match pruned(webhook) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    for (field, default) in [
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("reinvocationPolicy", json!("Never")),
        ("timeoutSeconds", json!(10)),
    ] {
        fields.entry(field).or_insert(default);
    }
    for rule in fields.get_mut(RULES).and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.entry("scope").or_insert_with(|| json!("*"));
        }
    }
    if let Some(Value::Object(mut client)) = fields.remove("clientConfig") {
        if let Some(Value::Object(service)) = client.get_mut("service") {
            service.entry("port").or_insert_with(|| json!(443));
        }
        fields
            .extend(client.into_iter().map(|(key, value)| (format!("clientConfig.{key}"), value)));
    }
    fields
}

/// Removes nulls and empty parts: the API server does not store them.
fn pruned(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(members) => {
            let members = members.iter().filter_map(|(key, it)| Some((key.clone(), pruned(it)?)));
            let members: Map<_, _> = members.collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        Value::Array(items) => {
            // In `apiGroups`, an empty string means the core group.
            let items: Vec<_> = items.iter().filter_map(pruned).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        other => Some(other.clone()),
    }
}

fn pointer(i: usize, field: &str) -> String {
    format!("/webhooks/{i}/{}", field.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Value {
        json!({
            "name": "validate.setguard.io",
            "clientConfig": { "service": { "name": "a", "namespace": "b", "path": "/validate" } },
            "namespaceSelector": { "matchLabels": null, "matchExpressions": [{ "key": "a" }] },
            "matchConditions": [{ "name": "x", "expression": "true" }],
            "rules": [{ "apiGroups": [""], "resources": ["daemonsets"] }],
            "timeoutSeconds": 5,
        })
    }

    fn configuration(annotation: Option<&Value>) -> Value {
        let mut stored = entry();
        stored["namespaceSelector"].as_object_mut().unwrap().remove("matchLabels");
        stored["objectSelector"] = json!({});
        stored["matchPolicy"] = json!("Equivalent");
        stored["failurePolicy"] = json!("Fail");
        stored["rules"][0]["scope"] = json!("*");
        stored["clientConfig"]["service"]["port"] = json!(443);
        stored["clientConfig"]["caBundle"] = json!("Q0E=");
        let annotations = annotation.map(|it| json!({ WEBHOOKS_ANNOTATION: it.to_string() }));
        json!({ "metadata": { "annotations": annotations }, "webhooks": [stored] })
    }

    #[test]
    fn defaults_of_the_api_server_and_the_bundle_are_not_a_difference() {
        let compared = compare(&configuration(Some(&json!([entry()]))), &[]).unwrap();
        assert!(compared.is_as_written(), "{compared:?}");
        assert_eq!(compared.say("K", "n"), None);
    }

    #[test]
    fn only_rules_are_written_back() {
        for has in [Value::Null, json!([]), json!([{ "resources": ["pods"] }])] {
            let mut read = configuration(Some(&json!([entry()])));
            read["webhooks"][0]["rules"] = has;
            let compared = compare(&read, &[]).unwrap();
            let rules = json!([{ "apiGroups": [""], "resources": ["daemonsets"], "scope": "*" }]);
            assert_eq!(compared.rules, [(0, rules)]);
            assert_eq!(compared.foreign, []);
        }
    }

    #[test]
    fn each_other_change_is_said_with_the_command_that_restores_it() {
        let more =
            json!([{ "name": "x", "expression": "true" }, { "name": "no", "expression": "false" }]);
        let nothing = json!({ "matchLabels": { "no": "where" } });
        let caseless = json!("b'c");
        for (path, value, field) in [
            ("namespaceSelector", &nothing, "namespaceSelector"),
            ("objectSelector", &nothing, "objectSelector"),
            ("matchConditions", &more, "matchConditions"),
            ("matchConditions", &json!([]), "matchConditions"),
            ("failurePolicy", &json!("Ignore"), "failurePolicy"),
            ("matchPolicy", &json!("Exact"), "matchPolicy"),
            ("timeoutSeconds", &json!(1), "timeoutSeconds"),
            ("reinvocationPolicy", &json!("IfNeeded"), "reinvocationPolicy"),
            (
                "clientConfig",
                &json!({ "url": "https://elsewhere" }),
                "clientConfig.service and clientConfig.url",
            ),
        ] {
            let mut read = configuration(Some(&json!([entry()])));
            read["webhooks"][0][path] = value.clone();
            let compared = compare(&read, &[]).unwrap();
            assert!(compared.rules.is_empty() && !compared.is_as_written());
            let said = compared.say("ValidatingWebhookConfiguration", "n").unwrap();
            let expected = format!(
                "n is not as the chart wrote it: validate.setguard.io has another {field}. "
            );
            assert!(said.contains(&expected), "{said}");
            let patch: json_patch::Patch = serde_json::from_value(compared.remedy.into()).unwrap();
            json_patch::patch(&mut read, &patch).unwrap();
            assert!(compare(&read, &[]).unwrap().is_as_written(), "{path}: {read:#}");
        }
        let mut read = configuration(Some(
            &json!([{ "name": "validate.setguard.io", "sideEffects": caseless }]),
        ));
        read["webhooks"] = json!([{ "name": "validate.setguard.io" }]);
        let said = compare(&read, &[]).unwrap().say("K", "n").unwrap();
        assert!(said.ends_with(r#""value":"b'\''c"}]'"#), "quoted for a shell: {said}");
    }

    #[test]
    fn webhooks_that_were_removed_or_added_are_named() {
        let mut wanted = json!([entry(), entry()]);
        wanted[1]["name"] = json!("create.validate.setguard.io");
        let mut read = configuration(Some(&wanted));
        let mut added = entry();
        added["name"] = json!("more.example.com");
        read["webhooks"].as_array_mut().unwrap().push(added);
        let said = compare(&read, &[]).unwrap().say("K", "n").unwrap();
        assert!(
            said.contains("create.validate.setguard.io is missing; more.example.com was added"),
            "{said}"
        );
        assert!(said.ends_with("delete the configuration and run helm upgrade"), "{said}");
    }

    #[test]
    fn a_configuration_without_a_readable_annotation_is_not_as_written() {
        let error = compare(&configuration(None), &[]).unwrap_err();
        assert!(error.starts_with("it has no annotation setguard.io/webhooks"), "{error}");
        let error = compare(&configuration(Some(&json!({}))), &[]).unwrap_err();
        assert!(error.starts_with("annotation setguard.io/webhooks: "), "{error}");
        let kind = "ValidatingWebhookConfiguration";
        let read = json!({ "metadata": { "annotations": { SIBLING_ANNOTATION: kind } } });
        assert!(has_sibling(&read, kind) && !has_sibling(&read, "MutatingWebhookConfiguration"));
    }
}
