use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm, Taint};

use crate::kubernetes::tolerations::{tolerates, tolerates_taint};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "control-plane-selected", group: Nodes;
    title: "the selected nodes refuse the pods",
    summary: "pods for control plane nodes, or new nodes, that do not tolerate their taint",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Both the label and the taint.
const ROLE: &str = "node-role.kubernetes.io/control-plane";

/// Kubernetes: `MarkControlPlane`, cmd/kubeadm/app/phases/markcontrolplane/markcontrolplane.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    cloud_controller_manager(spec, found);
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
        "the pods select control plane nodes and do not tolerate their taint {ROLE}, so no pod runs unless the taint \
         was removed, as on single-node clusters and OpenShift with schedulable masters"
    );
    let help = format!("add {{key: {ROLE}, operator: Exists, effect: NoSchedule}} to tolerations");
    found.report(&path, Reason::Required, message, help).noted_if(is_unsure);
}

/// The kubelet sets the taint on a new node of a cloud, and only a cloud controller manager removes it.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Kubernetes: `initializeNode`, cloud-provider/controllers/node/node_controller.go.
fn cloud_controller_manager(spec: &PodSpec, found: &mut Findings) {
    let is_it = |name: &str| name.ends_with("cloud-controller-manager");
    let found_in = spec.containers.iter().find(|it| {
        let words = list(&it.command).iter().chain(list(&it.args));
        is_it(read::image(it).0) || words.take(1).any(|it| is_it(it))
    });
    let Some(container) = found_in else { return };
    let (value, time_added) = (Some("true".to_owned()), None);
    let (key, effect) = (UNINITIALIZED.to_owned(), "NoSchedule".to_owned());
    let taint = Taint { key, value, effect, time_added };
    if list(&spec.tolerations).iter().any(|it| tolerates_taint(it, &taint)) {
        return;
    }
    let mut words = list(&container.command).iter().chain(list(&container.args));
    let leaves_it = words.any(|it| {
        let controllers = it.strip_prefix("--controllers=");
        controllers.is_some_and(|it| !it.split(',').any(|it| matches!(it, "*" | "cloud-node")))
    });
    let message = format!(
        "only a cloud controller manager removes the taint {UNINITIALIZED} of new nodes, and this one does not \
         tolerate it, so in a new cluster no pod runs"
    );
    let help =
        format!("add {{key: {UNINITIALIZED}, value: \"true\", effect: NoSchedule}} to tolerations");
    let path = if spec.tolerations.is_some() { &TOLERATIONS } else { &POD_SPEC };
    found.report(path, Reason::Required, message, help).noted_if(leaves_it);
}
