use crate::finding::ClusterAssumption;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "daemon-without-priority", group: Nodes, cel: "cel.yaml";
    title: "a plugin of the node has no priority",
    summary: "a network, storage or device plugin of the node without a priorityClassName",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = &spec.template.spec else { return };
    let has_class = pod.priority_class_name.as_deref().is_some_and(|name| !name.is_empty());
    if has_class || pod.priority.is_some() {
        return;
    }
    let Some((path, purpose)) = read::plugin_folder(pod) else { return };
    let message = format!(
        "the hostPath {path} belongs to a plugin for {purpose}, but on a full node this pod \
         stays Pending, because it has no priorityClassName"
    );
    let help = "set priorityClassName to a PriorityClass of your own; it evicts pods of a lower priority from a \
         full node, and system-node-critical evicts those of nearly all others, databases too";
    found
        .report(&POD_SPEC, Reason::Required, message, help)
        .only_with(ClusterAssumption::FullNodes);
}
