//! Pins a pod to the node that it was created for, without ever letting it run on more nodes.
//!
//! The terms of a node selector are ORed, and the requirements within a term are ANDed. So the pin is added to every
//! term; a separate term would allow more nodes.

use json_patch::PatchOperation;
use k8s_openapi::api::core::v1::NodeSelectorTerm;
use serde_json::json;

use super::{patch::add, pod::PodSpec};
use crate::{
    finding::{
        Findings, Path, Reason,
        paths::{ANNOTATIONS, SPEC},
    },
    kubernetes::{
        absent::list,
        names,
        node_selector::{self, NAME, is_empty, required_terms},
    },
    object::annotations::NODE_ANNOTATION,
};

static AFFINITY: Path<'static> = SPEC.child("affinity");
static NODE_AFFINITY: Path<'static> = AFFINITY.child("nodeAffinity");
static REQUIRED: Path<'static> = NODE_AFFINITY.child(REQUIRED_NAME);
static TERMS: Path<'static> = REQUIRED.child("nodeSelectorTerms");
const REQUIRED_NAME: &str = "requiredDuringSchedulingIgnoredDuringExecution";

pub(super) fn pin(
    spec: &PodSpec,
    node: &str,
    patch: &mut Vec<PatchOperation>,
    found: &mut Findings,
) {
    if let Some(problem) = names::dns1123_subdomain(node).first() {
        found.report(
            &ANNOTATIONS.key(NODE_ANNOTATION),
            Reason::Invalid,
            format!("{node:?} cannot be the name of a node: {problem}"),
            "write the name of a Node into the annotation",
        );
        return;
    }
    if let Some(name) = spec.node_name.as_deref().filter(|name| !name.is_empty()) {
        if name != node {
            found.report(
                &SPEC.child("nodeName"),
                Reason::Invalid,
                format!("the pod is bound to node {name:?}, but was created for node {node:?}"),
                "leave nodeName out: the scheduler places the pod",
            );
        }
        return;
    }
    let affinity = spec.affinity.as_ref();
    match required_terms(affinity) {
        None => {
            let has_nodes = affinity.is_some_and(|it| it.node_affinity.is_some());
            patch.push(add_required(node, (affinity.is_some(), has_nodes)));
        }
        // The API server rejects an empty list of terms. An added term would make it valid.
        Some([]) => {}
        Some(terms) if terms.iter().all(|term| why_not(spec, term, node).is_some()) => {
            conflict(spec, terms, node, found);
        }
        Some(terms) => add_to_each(terms, node, patch),
    }
}

/// The pod may have an affinity without a node affinity, and a node affinity without requirements.
fn add_required(node: &str, (has_affinity, has_node_affinity): (bool, bool)) -> PatchOperation {
    let required = json!({ "nodeSelectorTerms": [{ "matchFields": [requirement(node)] }] });
    if has_node_affinity {
        return add(&REQUIRED, None, required);
    }
    let node_affinity = json!({ REQUIRED_NAME: required });
    if has_affinity {
        return add(&NODE_AFFINITY, None, node_affinity);
    }
    add(&AFFINITY, None, json!({ "nodeAffinity": node_affinity }))
}

/// Skips terms that are pinned already.
fn add_to_each(terms: &[NodeSelectorTerm], node: &str, patch: &mut Vec<PatchOperation>) {
    for (term, term_path) in TERMS.items(terms) {
        // An empty term selects nothing. With a pin, it would select the node.
        if is_empty(term) || is_pinned_to(term, node) {
            continue;
        }
        let fields_path = term_path.child("matchFields");
        patch.push(match term.match_fields.as_deref() {
            None | Some([]) => add(&fields_path, None, json!([requirement(node)])),
            Some(_) => add(&fields_path, Some("-"), requirement(node)),
        });
    }
}

fn why_not(spec: &PodSpec, term: &NodeSelectorTerm, node: &str) -> Option<String> {
    node_selector::why_not(spec.node_selector.as_ref(), term, Some(node))
}

fn requirement(node: &str) -> serde_json::Value {
    json!({ "key": NAME, "operator": "In", "values": [node] })
}

fn is_pinned_to(term: &NodeSelectorTerm, node: &str) -> bool {
    list(&term.match_fields).iter().any(|field| {
        field.key == NAME
            && field.operator == "In"
            && matches!(field.values.as_deref(), Some([name]) if name == node)
    })
}

fn conflict(spec: &PodSpec, terms: &[NodeSelectorTerm], node: &str, found: &mut Findings) {
    for (term, term_path) in TERMS.items(terms) {
        let other = list(&term.match_fields).iter().find_map(|field| {
            let values = list(&field.values);
            let is_other = field.key == NAME && field.operator == "In";
            (is_other && !values.iter().any(|name| name == node)).then(|| values.join(", "))
        });
        let message = match other {
            Some(other) => {
                format!("the pod is pinned to node {other:?}, but was created for node {node:?}")
            }
            None => {
                let why = why_not(spec, term, node).unwrap_or_default();
                format!(
                    "the term never selects node {node:?}, which the pod was created for: {why}"
                )
            }
        };
        found.report(
            &term_path,
            Reason::Invalid,
            message,
            "remove the term: the annotation already names the node",
        );
    }
}
