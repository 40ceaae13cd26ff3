use crate::inventory::resources::Resources;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "requests-exceed-node", group: NeverStarts;
    title: "no node has what the pods request",
    summary: "pods that request more CPU or memory than the nodes for them have",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Absence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    // Once the pods exist, the scheduler's message shows it.
    if query.is_stored() || !query.knows_nodes() {
        return;
    }
    let is_daemon = query.item.kind() == Kind::DaemonSet;
    let wanted = query.details.requests;
    let (mut small, mut most) = (MatchingNodes::default(), Resources::default());
    let fits = query.inventory().has_node(&query.details.allowed_nodes(), |item, node| {
        if is_daemon && node.taint_against(&query.details.tolerations).is_some() {
            return false;
        }
        // A node of unknown size may be large enough.
        let Some(allocatable) = node.allocatable.as_deref() else { return !is_daemon };
        let is_small = wanted.cpu > allocatable.cpu || wanted.memory > allocatable.memory;
        if is_small {
            small.add(item);
            most = most.max(*allocatable);
        }
        !is_small && !is_daemon
    });
    if small.count() == 0 || fits {
        return;
    }
    let message = match (is_daemon, small.count()) {
        (true, 1) => format!(
            "a pod requests {wanted}, but {small} has only {most} for all pods: there it stays Pending"
        ),
        (true, _) => format!(
            "a pod requests {wanted}, but {small} have at most {most} for all pods: there it stays Pending"
        ),
        (false, _) => format!(
            "a pod requests {wanted}, but {small}, on which it may run, have at most {most} for all pods, so it stays Pending"
        ),
    };
    let help = if is_daemon {
        "lower the requests, or exclude these nodes by a nodeSelector or node affinity"
    } else {
        "lower the requests, or add larger nodes"
    };
    found.via(Kind::Node, &POD_SPEC, Reason::Invalid, message, help);
}
