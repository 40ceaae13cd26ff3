//! Pods for control plane nodes only, without the toleration that they need there.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};

use crate::kubernetes::tolerations::tolerates;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "control-plane-selected",
    title: "the selected nodes refuse the pods",
    summary: "pods for control plane nodes that do not tolerate their taint",
    group: Nodes,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Both the label and the taint.
const ROLE: &str = "node-role.kubernetes.io/control-plane";

/// Kubernetes: `MarkControlPlane`, cmd/kubeadm/app/phases/markcontrolplane/markcontrolplane.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if list(&spec.tolerations).iter().any(|it| tolerates(it, ROLE, "NoSchedule")) {
        return;
    }
    let selected = spec.node_selector.as_ref().and_then(|it| it.get(ROLE));
    let terms = required_terms(spec.affinity.as_ref()).unwrap_or_default();
    let all = |asks: fn(&NodeSelectorRequirement) -> bool| {
        let asks = |it: &NodeSelectorTerm| {
            list(&it.match_expressions).iter().any(|it| it.key == ROLE && asks(it))
        };
        !terms.is_empty() && terms.iter().all(asks)
    };
    // Other distributions write the label with a value, and no taint.
    let (path, is_unsure) = match selected {
        Some(value) if value.is_empty() => (POD_SPEC.child("nodeSelector"), false),
        _ if all(|it| it.operator == "In" && list(&it.values).iter().all(String::is_empty)) => {
            (POD_SPEC.child("affinity"), false)
        }
        _ if all(|it| it.operator == "Exists") => (POD_SPEC.child("affinity"), true),
        _ => return,
    };
    let message = format!(
        "the pods select control plane nodes and do not tolerate their taint {ROLE}, so no pod runs"
    );
    let help = format!("add {{key: {ROLE}, operator: Exists, effect: NoSchedule}} to tolerations");
    found.report(&path, Reason::Required, message, help).noted_if(is_unsure);
}
