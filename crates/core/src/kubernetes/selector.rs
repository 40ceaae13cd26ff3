//! Validates and matches label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::json;

use super::{absent::list, allowed::Test, labels, names};
use crate::finding::{At, Value};

/// Validates a label selector. `any_value` decides whether expressions may contain invalid label values, and is called
/// only if one does.
///
/// Kubernetes: `ValidateLabelSelector`, apimachinery `pkg/apis/meta/v1/validation/validation.go`.
pub fn validate(selector: &LabelSelector, any_value: &dyn Fn() -> bool, path: &At<'_>) {
    labels::labels(selector.match_labels.as_ref(), &path.child("matchLabels"));
    for (i, requirement) in list(&selector.match_expressions).iter().enumerate() {
        validate_requirement(requirement, any_value, &path.item("matchExpressions", i));
    }
}

/// Kubernetes: `ValidateLabelSelectorRequirement`, in the same file.
fn validate_requirement(
    requirement: &LabelSelectorRequirement,
    any_value: &dyn Fn() -> bool,
    path: &At<'_>,
) {
    let values = list(&requirement.values);
    match requirement.operator.as_str() {
        "In" | "NotIn" => {
            if values.is_empty() {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                path.child("values").required(detail);
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                path.child("values").forbidden(detail);
            }
        }
        operator => {
            path.child("operator").invalid(Value::json(&operator), "not a valid selector operator");
        }
    }
    labels::label_key(&requirement.key, &path.child("key"));
    if !values.iter().all(|value| names::is_label_value(value)) && !any_value() {
        for (i, value) in values.iter().enumerate() {
            for message in names::label_value(value) {
                path.item("values", i).invalid(value, message);
            }
        }
    }
}

/// Returns whether an expression contains a value that no label can have. Kubernetes:
/// `LabelSelectorHasInvalidLabelValue`, in the same file.
pub fn has_invalid_value(selector: &LabelSelector) -> bool {
    list(&selector.match_expressions)
        .iter()
        .flat_map(|it| list(&it.values))
        .any(|value| !names::is_label_value(value))
}

/// Returns whether the selector has neither labels nor expressions, and so matches everything.
pub fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && list(&selector.match_expressions).is_empty()
}

/// Returns whether the selector can be evaluated at all. Kubernetes: `LabelSelectorAsSelector`, apimachinery
/// `pkg/apis/meta/v1/helpers.go`, and `NewRequirement`, `pkg/labels/selector.go`.
pub fn parses(selector: &LabelSelector) -> bool {
    let pairs = selector.match_labels.iter().flatten();
    let mut expressions = list(&selector.match_expressions).iter();
    pairs
        .into_iter()
        .all(|(key, value)| names::label_key(key).is_empty() && names::is_label_value(value))
        && expressions.all(|requirement| {
            let values = list(&requirement.values);
            let counted = match requirement.operator.as_str() {
                "In" | "NotIn" => !values.is_empty(),
                "Exists" | "DoesNotExist" => values.is_empty(),
                _ => false,
            };
            counted
                && names::label_key(&requirement.key).is_empty()
                && values.iter().all(|value| names::is_label_value(value))
        })
}

/// Returns whether a selector that [`parses`] matches the labels that `label` looks up. An empty selector matches
/// everything. Kubernetes: `Requirement.Matches`, apimachinery `pkg/labels/selector.go`.
pub fn matches<'l>(selector: &LabelSelector, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    let mut pairs = selector.match_labels.iter().flatten();
    pairs.all(|(key, value)| label(key) == Some(value))
        && list(&selector.match_expressions).iter().all(|requirement| {
            let test = Test::of(&requirement.operator, list(&requirement.values));
            test.is_some_and(|test| test.holds(label(&requirement.key)))
        })
}

/// Like [`matches()`], for a map of labels, as in a template.
pub fn matches_labels(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    matches(selector, |key| labels?.get(key).map(String::as_str))
}

/// Returns the selector as the API server prints it, with the fields in Go's order.
pub fn to_value(selector: Option<&LabelSelector>) -> Value<'static> {
    Value::json(&to_json(selector))
}

/// Like [`to_value`], for use inside a larger value.
pub fn to_json(selector: Option<&LabelSelector>) -> serde_json::Value {
    let Some(selector) = selector else { return serde_json::Value::Null };
    let mut object = serde_json::Map::new();
    if let Some(labels) = selector.match_labels.as_ref().filter(|labels| !labels.is_empty()) {
        object.insert("matchLabels".to_owned(), json!(labels));
    }
    let expressions: Vec<_> = list(&selector.match_expressions)
        .iter()
        .map(|requirement| match list(&requirement.values) {
            [] => json!({"key": requirement.key, "operator": requirement.operator}),
            values => {
                json!({"key": requirement.key, "operator": requirement.operator, "values": values})
            }
        })
        .collect();
    if !expressions.is_empty() {
        object.insert("matchExpressions".to_owned(), expressions.into());
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Findings, Path};

    fn selector(json: serde_json::Value) -> LabelSelector {
        serde_json::from_value(json).unwrap()
    }
    fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        let one = json!({"key": key, "operator": operator, "values": values});
        selector(json!({"matchExpressions": [one]}))
    }
    fn found(selector: &LabelSelector, any_value: bool) -> Vec<String> {
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        validate(selector, &|| any_value, &found.at(&Path::new("selector")));
        found.into_vec().into_iter().map(|f| format!("{}: {}", f.field, f.message)).collect()
    }

    #[test]
    fn the_four_operators_match() {
        let label = |key: &str| (key == "app").then_some("a");
        let cases = [
            ("app", "In", &["a", "b"][..], true),
            ("app", "In", &["b"], false),
            ("other", "In", &["a"], false),
            ("app", "NotIn", &["a"], false),
            ("app", "NotIn", &["b"], true),
            ("other", "NotIn", &["a"], true),
            ("app", "Exists", &[], true),
            ("other", "Exists", &[], false),
            ("app", "DoesNotExist", &[], false),
            ("other", "DoesNotExist", &[], true),
        ];
        for (key, operator, values, expected) in cases {
            let one = expression(key, operator, values);
            assert!(parses(&one) && found(&one, false).is_empty(), "{key} {operator}");
            assert_eq!(matches(&one, label), expected, "{key} {operator} {values:?}");
        }
        assert!(matches(&LabelSelector::default(), label));
        assert!(!matches(&selector(json!({"matchLabels": {"app": "b"}})), label));
    }

    #[test]
    fn faults_of_expressions() {
        let cases = [
            (expression("a", "In", &[]), "selector.matchExpressions[0].values: Required value"),
            (expression("a", "Exists", &["b"]), "selector.matchExpressions[0].values: Forbidden"),
            (expression("a", "Gt", &["1"]), "selector.matchExpressions[0].operator: Invalid value"),
            (expression("a b", "Exists", &[]), "selector.matchExpressions[0].key: Invalid value"),
            (expression("a", "In", &["b", "c d"]), "selector.matchExpressions[0].values[1]: Inv"),
        ];
        for (one, expected) in cases {
            let texts = found(&one, false);
            assert!(texts.len() == 1 && texts[0].starts_with(expected), "{expected}: {texts:?}");
            assert!(!parses(&one), "{expected}");
        }
    }

    #[test]
    fn a_bad_value_can_be_let_pass_but_never_evaluated() {
        let one = expression("a", "In", &["b c"]);
        assert!(found(&one, true).is_empty() && has_invalid_value(&one) && !parses(&one));
    }

    #[test]
    fn printed_in_the_order_of_go() {
        let one = selector(json!({
            "matchExpressions": [{"key": "<", "operator": "In", "values": ["v"]}],
            "matchLabels": {"b": "2", "a": "1"},
        }));
        let text = r#"{"matchLabels":{"a":"1","b":"2"},"matchExpressions":[{"key":"\u003c","operator":"In","values":["v"]}]}"#;
        assert_eq!(to_value(Some(&one)).to_string(), text);
        assert_eq!(to_value(None).to_string(), "null");
        assert_eq!(to_value(Some(&LabelSelector::default())).to_string(), "{}");
    }
}
