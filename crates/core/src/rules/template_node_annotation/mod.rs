use crate::object::annotations::NODE_ANNOTATION;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "template-node-annotation", group: Guard, cel: "cel.yaml";
    title: "all pods ask for one node",
    summary: "setguard.io/node in a template: all pods ask for one node",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let metadata = subject.object.template().metadata.as_ref();
    let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
    let Some(node) = annotations.and_then(|it| it.get(NODE_ANNOTATION)) else { return };
    let message = match subject.object.kind() {
        WorkloadKind::DaemonSet => format!(
            "the pods of all nodes but {node:?} are denied: each is annotated with {node:?} and \
             tied to its own node"
        ),
        WorkloadKind::StatefulSet => format!(
            "all pods ask for node {node:?}: they are pinned to it, or warned about if the \
             controller is not on the list of paired controllers"
        ),
    };
    let annotations = TEMPLATE.below("metadata.annotations");
    let help = "remove it: only a paired controller sets it, on each pod that it creates";
    found.report(&annotations.key(NODE_ANNOTATION), Reason::Forbidden, message, help);
}
