//! Ties a pod to the one node it was made for, without ever widening where it may run.
//!
//! Terms of a node selector are ORed, requirements within a term ANDed. So the pin goes into every
//! term; a term of its own would widen placement.

use json_patch::PatchOperation;
use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use serde_json::json;

use super::{patch::add, pod::PodSpec};
use crate::{
    finding::{Findings, Path, Reason},
    kubernetes::{names, node_selector::why_not_node},
    object::marks::NODE_ANNOTATION,
};

/// The only field of a node that a node selector can match.
const NAME: &str = "metadata.name";

/// Adds what pins a pod to a node, or reports why it cannot be pinned.
pub(super) fn pin(
    spec: &PodSpec,
    node: &str,
    path: &Path<'_>,
    patch: &mut Vec<PatchOperation>,
    found: &mut Findings,
) {
    let metadata = Path::new("metadata");
    let annotations = metadata.child("annotations");
    let annotation = annotations.key(NODE_ANNOTATION);
    if let Some(problem) = names::dns1123_subdomain(node).first() {
        return found.report(
            &annotation,
            Reason::Invalid,
            format!("{node:?} cannot be the name of a node: {problem}"),
            "write the name of a Node into the annotation",
        );
    }
    if let Some(name) = spec.node_name.as_deref().filter(|name| !name.is_empty()) {
        if name != node {
            found.report(
                &path.child("nodeName"),
                Reason::Invalid,
                format!("the pod is bound to node {name:?}, but made for node {node:?}"),
                "leave nodeName out: the scheduler places the pod",
            );
        }
        return;
    }
    let affinity_path = path.child("affinity");
    let node_affinity_path = affinity_path.child("nodeAffinity");
    let required_path = node_affinity_path.child("requiredDuringSchedulingIgnoredDuringExecution");
    let terms_path = required_path.child("nodeSelectorTerms");

    let required = json!({ "nodeSelectorTerms": [{ "matchFields": [requirement(node)] }] });
    let Some(affinity) = &spec.affinity else {
        let node_affinity = json!({ "requiredDuringSchedulingIgnoredDuringExecution": required });
        return patch.push(add(&affinity_path, None, json!({ "nodeAffinity": node_affinity })));
    };
    let Some(node_affinity) = &affinity.node_affinity else {
        let node_affinity = json!({ "requiredDuringSchedulingIgnoredDuringExecution": required });
        return patch.push(add(&node_affinity_path, None, node_affinity));
    };
    let Some(selector) = &node_affinity.required_during_scheduling_ignored_during_execution else {
        return patch.push(add(&required_path, None, required));
    };
    let terms = &selector.node_selector_terms;
    // No term at all is for the API server to refuse; a term of ours would make it valid.
    if terms.is_empty() {
        return;
    }
    let selects = |term| why_not_node(spec.node_selector.as_ref(), term, node).is_none();
    if !terms.iter().any(selects) {
        return conflict(spec, terms, node, &terms_path, found);
    }
    for (i, term) in terms.iter().enumerate() {
        // An empty term selects nothing; with a pin in it, it would select the node.
        if is_empty(term) || is_pinned_to(term, node) {
            continue;
        }
        let term_path = terms_path.index(i);
        let fields_path = term_path.child("matchFields");
        patch.push(match term.match_fields.as_deref() {
            None | Some([]) => add(&fields_path, None, json!([requirement(node)])),
            Some(_) => add(&fields_path, Some("-"), requirement(node)),
        });
    }
}

fn requirement(node: &str) -> serde_json::Value {
    json!({ "key": NAME, "operator": "In", "values": [node] })
}

fn fields(term: &NodeSelectorTerm) -> &[NodeSelectorRequirement] {
    term.match_fields.as_deref().unwrap_or_default()
}

/// Kubernetes: `isEmptyNodeSelectorTerm`, component-helpers
/// scheduling/corev1/nodeaffinity/nodeaffinity.go.
fn is_empty(term: &NodeSelectorTerm) -> bool {
    fields(term).is_empty() && term.match_expressions.as_deref().unwrap_or_default().is_empty()
}

fn is_pinned_to(term: &NodeSelectorTerm, node: &str) -> bool {
    fields(term).iter().any(|field| {
        field.key == NAME
            && field.operator == "In"
            && matches!(field.values.as_deref(), Some([name]) if name == node)
    })
}

/// Every term excludes the node: each is named, with what in it does.
fn conflict(
    spec: &PodSpec,
    terms: &[NodeSelectorTerm],
    node: &str,
    path: &Path<'_>,
    found: &mut Findings,
) {
    for (i, term) in terms.iter().enumerate() {
        let term_path = path.index(i);
        let other = fields(term).iter().find_map(|field| {
            let values = field.values.as_deref().unwrap_or_default();
            let is_other = field.key == NAME && field.operator == "In";
            (is_other && !values.iter().any(|name| name == node)).then(|| values.join(", "))
        });
        let message = match other {
            Some(other) => {
                format!("the pod is pinned to node {other:?}, but made for node {node:?}")
            }
            None => {
                let why = why_not_node(spec.node_selector.as_ref(), term, node);
                let why = why.unwrap_or_default();
                format!("the term never selects node {node:?}, which the pod is made for: {why}")
            }
        };
        found.report(
            &term_path,
            Reason::Invalid,
            message,
            "remove the term: the annotation names the node",
        );
    }
}
