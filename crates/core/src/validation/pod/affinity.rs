use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PodAffinityTerm, WeightedPodAffinityTerm,
};

use super::spread::match_label_keys;
use crate::kubernetes::node_selector;
use crate::validation::prelude::*;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const WEIGHT: &str = "must be in the range 1-100";

#[derive(Clone, Copy, PartialEq)]
enum Values {
    OfLabels,
    Any,
}

/// Follows `validateAffinity`.
pub(crate) fn validate(affinity: &Affinity, opts: &Options, path: &At<'_>) {
    if let Some(nodes) = &affinity.node_affinity {
        node_affinity(nodes, opts, &path.child("nodeAffinity"));
    }
    for (field, required, preferred) in pod_affinity::groups(affinity) {
        let path = path.child(field);
        terms(required, opts, &path.child(REQUIRED));
        weighted_terms(preferred, opts, &path.child(PREFERRED));
    }
}

/// Follows `validateNodeAffinity`.
fn node_affinity(nodes: &NodeAffinity, opts: &Options, path: &At<'_>) {
    if let Some(selector) = &nodes.required_during_scheduling_ignored_during_execution {
        node_selector(selector, opts, &path.child(REQUIRED));
    }
    let path = path.child(PREFERRED);
    let preferred = list(&nodes.preferred_during_scheduling_ignored_during_execution);
    for (term, path) in path.items(preferred) {
        if !(1..=100).contains(&term.weight) {
            path.child("weight").invalid(term.weight, WEIGHT);
        }
        // A preference that matches no node does no harm.
        node_term(&term.preference, Values::Any, &path.child("preference"));
    }
}

/// Follows `ValidateNodeSelector`.
fn node_selector(selector: &NodeSelector, opts: &Options, path: &At<'_>) {
    let path = path.child("nodeSelectorTerms");
    let any = opts.invalid_label_value_in_node_affinity;
    let values = if any { Values::Any } else { Values::OfLabels };
    if selector.node_selector_terms.is_empty() {
        path.required("must have at least one node selector term");
    }
    for (i, term) in selector.node_selector_terms.iter().enumerate() {
        node_term(term, values, &path.index(i));
    }
}

/// Follows `ValidateNodeSelectorTerm`.
fn node_term(term: &NodeSelectorTerm, values: Values, path: &At<'_>) {
    for (i, requirement) in list(&term.match_expressions).iter().enumerate() {
        node_requirement(requirement, values, &path.item("matchExpressions", i));
    }
    for (i, requirement) in list(&term.match_fields).iter().enumerate() {
        node_field_requirement(requirement, &path.item("matchFields", i));
    }
}

/// Follows `ValidateNodeSelectorRequirement`.
fn node_requirement(requirement: &NodeSelectorRequirement, valid: Values, path: &At<'_>) {
    let values = list(&requirement.values);
    let at = path.child("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            at.required("must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            at.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Gt" | "Lt" if values.len() != 1 => {
            at.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        operator => bad_operator(operator, path),
    }
    label_key(&requirement.key, &path.child("key"));
    if valid == Values::OfLabels {
        for (i, value) in values.iter().enumerate() {
            each(names::label_value(value), value, &at.index(i));
        }
    }
}

/// Follows `ValidateNodeFieldSelectorRequirement`.
fn node_field_requirement(requirement: &NodeSelectorRequirement, path: &At<'_>) {
    let values = list(&requirement.values);
    let at = path.child("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.len() != 1 => {
            let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field \
                       selector";
            at.required(why);
        }
        "In" | "NotIn" => {}
        operator => bad_operator(operator, path),
    }
    if requirement.key == "metadata.name" {
        for (i, value) in values.iter().enumerate() {
            each(names::dns1123_subdomain(value), value, &at.index(i));
        }
    } else {
        path.child("key").invalid(&requirement.key, "not a valid field selector key");
    }
}

fn bad_operator(operator: &str, path: &At<'_>) {
    path.child("operator").invalid(named(operator), "not a valid selector operator");
}

fn terms(terms: &[PodAffinityTerm], opts: &Options, path: &At<'_>) {
    for (i, term) in terms.iter().enumerate() {
        pod_term(term, opts, &path.index(i));
    }
}

/// Follows `validateWeightedPodAffinityTerms`.
fn weighted_terms(terms: &[WeightedPodAffinityTerm], opts: &Options, path: &At<'_>) {
    for (term, path) in path.items(terms) {
        if !(1..=100).contains(&term.weight) {
            path.child("weight").invalid(term.weight, WEIGHT);
        }
        pod_term(&term.pod_affinity_term, opts, &path.child("podAffinityTerm"));
    }
}

/// Follows `validatePodAffinityTerm`.
fn pod_term(term: &PodAffinityTerm, opts: &Options, path: &At<'_>) {
    pod_term_selectors(term, opts, path);
    for name in list(&term.namespaces) {
        each(names::dns1123_label(name), name, &path.child("namespace"));
    }
    match_label_keys(
        list(&term.match_label_keys),
        list(&term.mismatch_label_keys),
        term.label_selector.as_ref(),
        path,
    );
    let path = path.child("topologyKey");
    if term.topology_key.is_empty() {
        path.required("can not be empty");
    }
    label_key(&term.topology_key, &path);
}

/// Follows `ValidatePodAffinityTermSelector`.
fn pod_term_selectors(term: &PodAffinityTerm, opts: &Options, path: &At<'_>) {
    let any_value = || opts.invalid_label_value_in_selector;
    if let Some(pods) = &term.label_selector {
        selector::validate(pods, &any_value, &path.child("labelSelector"));
    }
    if let Some(namespaces) = &term.namespace_selector {
        selector::validate(namespaces, &any_value, &path.child("namespaceSelector"));
    }
}

/// Follows `hasInvalidLabelValueInAffinitySelector`.
pub(crate) fn has_invalid_selector(spec: &PodSpec) -> bool {
    let strict = Options::default();
    pod_affinity::pod_terms(spec)
        .any(|term| !finds_nothing(|path| pod_term_selectors(term, &strict, path)))
}

/// Follows `hasInvalidLabelValueInRequiredNodeAffinity`.
pub(crate) fn has_invalid_node_value(spec: &PodSpec) -> bool {
    let terms = node_selector::required_terms(spec.affinity.as_ref()).unwrap_or_default();
    terms
        .iter()
        .flat_map(|term| list(&term.match_expressions))
        .flat_map(|requirement| list(&requirement.values))
        .any(|value| !names::is_label_value(value))
}
