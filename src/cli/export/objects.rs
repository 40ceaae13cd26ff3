//! The objects of an export, and the literals of their expressions.

use std::collections::HashMap;

use setguard_core::catalogue::HOME;

use crate::cli::prelude::*;

/// The suffix of each policy's name.
pub(super) const SUFFIX: &str = "setguard.io";

/// In a file, kube-apiserver requires names that end with `.static.k8s.io`.
pub(super) const STATIC_SUFFIX: &str = "setguard.static.k8s.io";

pub(super) fn make_static(object: &mut Value) {
    for pointer in ["/metadata/name", "/spec/policyName"] {
        if let Some(name) = object.pointer_mut(pointer)
            && let Some(start) = name.as_str().and_then(|it| it.strip_suffix(SUFFIX))
        {
            *name = format!("{start}{STATIC_SUFFIX}").into();
        }
    }
}

pub(super) fn is_mutating(object: &Value) -> bool {
    object["kind"].as_str().is_some_and(|kind| kind.starts_with("Mutating"))
}

pub(super) struct Export {
    pub(super) header: String,
    pub(super) objects: Vec<Value>,
}

pub(super) fn pair(
    (version, kind): (&str, &str),
    name: &str,
    spec: &Value,
    actions: Option<&[&str]>,
) -> [Value; 2] {
    let object = |kind: &str, spec: &Value| {
        json!({
            "apiVersion": format!("admissionregistration.k8s.io/{version}"),
            "kind": kind,
            "metadata": { "name": name },
            "spec": spec,
        })
    };
    let mut binding = json!({ "policyName": name });
    if let Some(actions) = actions {
        binding["validationActions"] = json!(actions);
    }
    [object(kind, spec), object(&format!("{kind}Binding"), &binding)]
}

pub(super) fn validating(name: &str, mode: Mode, spec: &Value) -> [Value; 2] {
    pair(("v1", "ValidatingAdmissionPolicy"), name, spec, Some(&[action(mode)]))
}

/// How many rules a policy may have. An expression may cost a tenth of a policy's budget, and each rule has two
/// expressions, so no rule uses up the budget of the others.
const MOST: usize = 5;

/// Merges policies that differ only in their validations, with their bindings. Up to 1.36, the cost of a policy does
/// not depend on the number of its validations.
pub(super) fn grouped(objects: Vec<Value>) -> Vec<Value> {
    let mut groups: Vec<Value> = Vec::new();
    let mut open: HashMap<String, usize> = HashMap::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut objects = objects.into_iter();
    while let (Some(mut policy), Some(mut binding)) = (objects.next(), objects.next()) {
        let validations = policy["spec"]["validations"].take();
        let action = binding["spec"]["validationActions"][0].as_str().unwrap_or_default();
        let action = action.to_lowercase();
        let key = format!("{} {action}", policy["spec"]);
        let known = open.get(&key).and_then(|i| groups[*i]["spec"]["validations"].as_array_mut());
        if let Some(known) = known.filter(|it| it.len() < MOST) {
            known.extend(validations.as_array().into_iter().flatten().cloned());
            continue;
        }
        policy["spec"]["validations"] = validations;
        let count = counts.entry(action.clone()).or_default();
        *count += 1;
        let name = format!("{action}-{count}.{SUFFIX}");
        policy["metadata"]["name"] = json!(name);
        binding["metadata"]["name"] = json!(name);
        binding["spec"]["policyName"] = json!(name);
        open.insert(key, groups.len());
        groups.extend([policy, binding]);
    }
    groups
}

pub(super) const fn action(mode: Mode) -> &'static str {
    match mode {
        Mode::Deny => "Deny",
        Mode::Warn => "Warn",
        Mode::Audit | Mode::Off => "Audit",
    }
}

pub(super) fn condition(name: &str, expression: impl Into<String>) -> Value {
    json!({ "name": name, "expression": expression.into() })
}

pub(super) fn matched(group: &str, resources: &[&str], operations: &[&str]) -> Value {
    json!({ "resourceRules": [{
        "apiGroups": [group], "apiVersions": ["v1"],
        "operations": operations, "resources": resources,
    }] })
}

pub(super) struct Message {
    /// CEL, if the message depends on the object. The API server evaluates it at each write, even without the fault.
    pub(super) expression: Option<String>,
    /// The message if there is no expression, or if it fails.
    pub(super) text: String,
}

/// `expression` is CEL that describes the fault; `help` is the remedy.
pub(super) fn message(meta: &Meta, expression: &str, help: &str) -> Message {
    let id = meta.id;
    let end = format!("; {help} (setguard: {id}, {HOME}/rules/{id}.html)");
    match unquote(expression) {
        Some(wrong) => Message { expression: None, text: format!("{wrong}{end}") },
        None => Message {
            expression: Some(format!("{expression} + {}", quote(&end))),
            text: format!("{}{end}", meta.summary),
        },
    }
}

/// `holds` is CEL that is true for objects without the fault.
pub(super) fn validation(holds: &str, message: &Message, reason: &str) -> Value {
    let mut validation = json!({ "expression": holds });
    if let Some(expression) = &message.expression {
        validation["messageExpression"] = json!(expression);
    }
    validation["message"] = json!(message.text);
    validation["reason"] = json!(reason);
    validation
}

pub(super) const IN_DELETION: &str = "has(object.metadata.deletionTimestamp)";

pub(super) fn not_in_deletion() -> Value {
    condition("not-in-deletion", format!("!{IN_DELETION}"))
}

/// kube-apiserver refuses a document that has only comments, so in its files the header is part of the first document.
pub(super) fn yaml(header: String, objects: &[Value], is_static: bool) -> anyhow::Result<String> {
    let mut text = header;
    for (i, object) in objects.iter().enumerate() {
        if i > 0 || !is_static {
            text.push_str("---\n");
        }
        text.push_str(&serde_saphyr::to_string(object)?);
    }
    Ok(text)
}

pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// Returns `None` unless the expression is a single literal.
fn unquote(expression: &str) -> Option<String> {
    let inner = expression.strip_prefix('\'')?.strip_suffix('\'')?;
    let text = inner.replace("\\'", "'");
    (quote(&text) == expression).then_some(text)
}

pub(super) fn list(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(", "))
}
