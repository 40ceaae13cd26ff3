//! Labels and label selectors inside a pod spec.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::util::{each, label_key, list, named};
use crate::{api_validation::names, field::Path, finding::Findings};

/// `ValidateLabels`: keys and values are reported at the map.
pub(crate) fn labels(
    labels: Option<&BTreeMap<String, String>>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    for (key, value) in labels.into_iter().flatten() {
        label_key(key, path, found);
        each(names::label_value(value), value, path, found);
    }
}

/// `ValidateLabelSelector`.
pub(crate) fn label_selector(
    selector: Option<&LabelSelector>,
    allow_invalid_values: bool,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let Some(selector) = selector else { return };
    labels(selector.match_labels.as_ref(), &path.child("matchLabels"), found);
    let path = path.child("matchExpressions");
    for (i, expression) in list(&selector.match_expressions).iter().enumerate() {
        let path = path.index(i);
        let values = list(&expression.values);
        values_of(&expression.operator, values, &path, found);
        label_key(&expression.key, &path.child("key"), found);
        if !allow_invalid_values {
            for (j, value) in values.iter().enumerate() {
                each(names::label_value(value), value, &path.child("values").index(j), found);
            }
        }
    }
}

/// Whether an operator has as many values as it needs: the first part of
/// `ValidateLabelSelectorRequirement`.
fn values_of(operator: &str, values: &[String], path: &Path<'_>, found: &mut Findings) {
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            found.required(&path.child("values"), why);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            found.forbidden(&path.child("values"), why);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => {
            let path = path.child("operator");
            found.invalid(&path, named(operator), "not a valid selector operator");
        }
    }
}
