use super::{
    pod_stuck_terminating::{OUT_OF_SERVICE, back_in_service},
    status::outlook::IDLE,
};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "node-down", group: Cluster;
    title: "a node is not ready",
    summary: "a node that is not ready, or is ready and still marked as out of service",
    scopes: [Scope::Status { kinds: &[Kind::Node], check: StatusCheck::Others(check) }],
};

/// With the pods on the node.
type Down<'a> = (&'a Node, Vec<(&'a WorkloadStatus, &'a Pod)>);

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    for node in audit.observed.nodes().filter(|node| is_out_of_service(audit, node)) {
        found.add(out_of_service(audit, node));
    }
    let down = |node: &&Node| node.not_ready.is_some_and(|since| audit.is_long_ago(since));
    let mut nodes: BTreeMap<&str, Down<'_>> = BTreeMap::new();
    for node in audit.observed.nodes().filter(down) {
        nodes.insert(&node.place.name, (node, Vec::new()));
    }
    if nodes.is_empty() {
        return;
    }
    for set in audit.observed.sets() {
        for pod in audit.observed.pods(set).iter().filter(|pod| pod.is_bound && !pod.has_ended) {
            let node = pod.node.as_deref().and_then(|name| nodes.get_mut(name));
            node.into_iter().for_each(|(_, pods)| pods.push((set, pod)));
        }
    }
    for (node, pods) in nodes.into_values().filter(|(_, pods)| !pods.is_empty()) {
        found.add(report(audit, node, &pods));
    }
}

fn is_out_of_service(audit: &Audit<'_>, node: &Node) -> bool {
    node.ready_since.is_some_and(|since| audit.is_long_ago(since))
        && node.place.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE)
}

fn out_of_service(audit: &Audit<'_>, node: &Node) -> StatusFinding {
    let name = node.place.name.as_str();
    let help =
        Help::say("Kubernetes does not remove the taint; if the node is back in service, run ");
    let help = help.run(back_in_service(audit, name));
    let facts = Facts::title(format!("the node is ready and still has the taint {OUT_OF_SERVICE}"))
        .effect("its pods were deleted, and none comes back".to_owned())
        .since(node.ready_since.unwrap_or_default())
        .nodes([name]);
    StatusFinding::new(&TAINTS, facts, help).about(about(node))
}

fn about(node: &Node) -> ObjectName {
    ObjectName::new(Kind::Node, "", &node.place.name, &node.uid)
}

fn report(audit: &Audit<'_>, node: &Node, pods: &[(&WorkloadStatus, &Pod)]) -> StatusFinding {
    let name = node.place.name.as_str();
    let mut sets: Vec<_> = pods.iter().map(|(set, _)| *set).collect();
    sets.dedup_by(|one, other| std::ptr::eq(*one, *other));
    let ending = pods.iter().filter(|(_, pod)| pod.deleted.is_some()).count();
    let ending = match ending {
        0 => String::new(),
        some => format!("; {some} {} Terminating", if some == 1 { "is" } else { "are" }),
    };
    let describe = audit.kubectl_anywhere().looks("describe node", &[name]);
    let help = Help::say("repair the node, or remove it; the sets need no change; ")
        .run(describe)
        .and(" shows its conditions");
    let facts = Facts::title("the node is not ready")
        .effect(format!("it has {} of {}{ending}", count(pods.len(), "pod"), sets_of(&sets)))
        .since(node.not_ready.unwrap_or_default())
        .pods(pods.iter().map(|(_, pod)| &*pod.name))
        .nodes([name])
        .outlook(Outlook::new(IDLE, Hold::Since(node.not_ready.unwrap_or_default())));
    let facts = match &*node.why_not_ready {
        "" => facts,
        said => facts.cause(one_line(said)),
    };
    StatusFinding::new(&CONDITIONS, facts, help).about(about(node))
}

static CONDITIONS: Path<'static> = STATUS.child("conditions");
static TAINTS: Path<'static> = SPEC.child("taints");
