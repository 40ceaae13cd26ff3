use crate::rules::prelude::*;
use crate::{
    inventory::nodes::{Alternative, Wanted},
    kubernetes::tolerations::tolerates,
};

pub(super) static RULE: Rule = rule! {
    id: "gpu-taint-not-tolerated", group: Nodes;
    title: "the taint of GPU nodes is not tolerated",
    summary: "a DaemonSet for GPU nodes that lacks the toleration of another one of the input",
    scopes: [Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Manifest, check }],
};

const MOST_COMPARED: usize = 100;

/// Kubernetes: `NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let missing = |it: &&Toleration| {
        let (key, effect) = (text(&it.key), text(&it.effect));
        let effect = if effect.is_empty() { "NoSchedule" } else { effect };
        key.ends_with("/gpu")
            && !query.details.tolerations.iter().any(|own| tolerates(own, key, effect))
    };
    let others = query.inventory().in_namespace(Kind::DaemonSet, query.item.namespace());
    let mut others = others.filter(|_| needs_gpu(query.details)).take(MOST_COMPARED);
    let lacks = others.find_map(|other| {
        let its = other.details().filter(|it| needs_gpu(it))?;
        its.tolerations.iter().find(missing).map(|it| (other, text(&it.key)))
    });
    let Some((other, key)) = lacks else { return };
    let message = format!(
        "it selects nodes with a GPU and does not tolerate their taint {key}, as {other} does, so it gets no pods where \
         the nodes have the taint"
    );
    let help = format!("add a toleration with key {key} and operator Exists");
    let path = POD_SPEC.child("tolerations");
    found.via(Kind::DaemonSet, &path, Reason::Required, message, help);
}

/// All nodes where the pods may run have a label about a GPU.
fn needs_gpu(details: &Details) -> bool {
    let is_about = |it: &Wanted<'_>| {
        matches!(it, Wanted::OneOf(label, _) | Wanted::Present(label)
            if label.contains("gpu") || label.contains("accelerator"))
    };
    let needs = |it: Alternative<'_>| it.requirements().any(|it| is_about(&it));
    details.nodes.as_ref().is_some_and(|(_, nodes)| nodes.alternatives().all(needs))
}
