//! The objects of an export, and the literals of their expressions.

use serde_json::{Value, json};

use crate::finding::Mode;

/// The end of the name of each policy.
pub(super) const SUFFIX: &str = "setguard.io";

/// Returns a policy with its binding. `kind` is the kind of the policy.
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

/// Returns a ValidatingAdmissionPolicy with its binding.
pub(super) fn validating(name: &str, mode: Mode, spec: &Value) -> [Value; 2] {
    let action = match mode {
        Mode::Deny => "Deny",
        Mode::Warn => "Warn",
        Mode::Audit | Mode::Off => "Audit",
    };
    pair(("v1", "ValidatingAdmissionPolicy"), name, spec, Some(&[action]))
}

/// Returns a condition under which a policy is evaluated.
pub(super) fn condition(name: &str, expression: impl Into<String>) -> Value {
    json!({ "name": name, "expression": expression.into() })
}

/// The condition that keeps objects that are being deleted as they are.
pub(super) fn not_in_deletion() -> Value {
    condition("not-in-deletion", "!has(object.metadata.deletionTimestamp)")
}

/// Appends objects to a text as documents of YAML.
///
/// # Errors
/// Returns an error if an object cannot be written as YAML.
pub(super) fn append(text: &mut String, objects: &[Value]) -> anyhow::Result<()> {
    for object in objects {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(object)?);
    }
    Ok(())
}

/// Returns a text as a literal of CEL.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// Returns texts as a list of literals of CEL.
pub(super) fn list(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(", "))
}
