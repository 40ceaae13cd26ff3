use crate::rules::prelude::*;
use crate::{kubernetes::tolerations, object::annotations};

pub(super) static RULE: Rule = rule! {
    id: "control-plane-not-tolerated", group: Nodes, mode: Mode::Audit, cel: "cel.yaml";
    title: "the control plane gets no pod",
    summary: "a node agent without a toleration for the control plane",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

const TAINT: &str = "node-role.kubernetes.io/control-plane";
const OLD_TAINT: &str = "node-role.kubernetes.io/master";

fn check(spec: &DaemonSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if subject.object.metadata.label(annotations::CONTROL_PLANE_LABEL) == Some("true") {
        return;
    }
    let Some(pod) = &spec.template.spec else { return };
    let list = pod.tolerations.as_deref().unwrap_or_default();
    // legacy-master-toleration reports a toleration of only the old taint.
    let tolerates = |it: &Toleration| {
        tolerations::tolerates(it, TAINT, "NoSchedule") || it.key.as_deref() == Some(OLD_TAINT)
    };
    if !is_agent_of_the_node(pod) || chooses_nodes(pod) || list.iter().any(tolerates) {
        return;
    }
    found.report(
        if list.is_empty() { &POD_SPEC } else { &TOLERATIONS },
        Reason::Required,
        format!("no pod will run on control plane nodes, which have the taint {TAINT}"),
        format!("add {{key: {TAINT}, operator: Exists, effect: NoSchedule}} to tolerations"),
    );
}

fn is_agent_of_the_node(spec: &PodSpec) -> bool {
    spec.host_pid == Some(true)
        || spec.host_ipc == Some(true)
        || spec.volumes.iter().flatten().any(|volume| volume.host_path.is_some())
}

fn chooses_nodes(spec: &PodSpec) -> bool {
    let is_os_or_arch =
        |key: &str| key.ends_with("kubernetes.io/os") || key.ends_with("kubernetes.io/arch");
    let terms = required_terms(spec.affinity.as_ref()).unwrap_or_default();
    let mut asked = terms.iter().flat_map(|term| term.match_expressions.iter().flatten());
    let named = spec.node_name.as_deref().is_some_and(|name| !name.is_empty());
    named
        || spec.node_selector.iter().flatten().any(|(key, _)| !is_os_or_arch(key))
        || asked.any(|it| !is_os_or_arch(&it.key))
}
