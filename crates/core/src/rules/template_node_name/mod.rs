use crate::rules::prelude::*;
use crate::validation::created_pod;

pub(super) static RULE: Rule = rule! {
    id: "template-node-name", group: Nodes, cel: "cel.yaml";
    title: "all pods go to one node",
    summary: "a template with nodeName: all pods go to one node, without the scheduler",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    // With scheduling gates too, no pod is created, so none can go there.
    let node = text(&spec.node_name);
    if node.is_empty() || created_pod::is_bound_and_gated(spec) {
        return;
    }
    let message = match subject.object.kind() {
        WorkloadKind::DaemonSet => format!(
            "the daemon runs on node {node:?} only, and nowhere if that node is missing or has a \
             taint that the template does not tolerate"
        ),
        WorkloadKind::StatefulSet => format!(
            "all pods are bound to node {node:?} without the scheduler, whether it has room for \
             them or not, and stay Pending if it is missing"
        ),
    };
    let help = "leave nodeName out and choose nodes by nodeSelector or node affinity";
    found.report(&POD_SPEC.child("nodeName"), Reason::Forbidden, message, help).removable(false);
}
