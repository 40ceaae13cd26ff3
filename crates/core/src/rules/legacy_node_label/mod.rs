use k8s_openapi::api::core::v1::NodeSelectorTerm;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "legacy-node-label", group: Upgrade, cel: "cel.yaml";
    title: "nodes no longer have this label",
    summary: "a nodeSelector or node affinity that asks for the control plane's old label",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

const OLD: &str = "node-role.kubernetes.io/master";
const NEW: &str = "node-role.kubernetes.io/control-plane";

fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let mut report = |path: &Path<'_>| {
        let outcome = match subject.object.kind() {
            WorkloadKind::DaemonSet => {
                "no pod is created and `kubectl rollout status` still reports success"
            }
            WorkloadKind::StatefulSet => "the pods stay Pending",
        };
        let message = format!("newer clusters do not set the label {OLD}: there {outcome}");
        found.report(path, Reason::Invalid, message, format!("ask for {NEW}")).since(24);
    };
    if spec.node_selector.as_ref().is_some_and(|selector| selector.contains_key(OLD)) {
        report(&POD_SPEC.child("nodeSelector").key(OLD));
    } else if let Some(terms @ [_, ..]) = required_terms(spec.affinity.as_ref())
        && terms.iter().all(asks_for_it)
    {
        report(&NODE_TERMS);
    }
}

fn asks_for_it(term: &NodeSelectorTerm) -> bool {
    let mut expressions = term.match_expressions.iter().flatten();
    expressions.any(|it| it.key == OLD && matches!(it.operator.as_str(), "In" | "Exists"))
}
