use crate::inventory::{node::Node, system::System};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "daemon-on-foreign-node", group: Nodes;
    title: "a daemon for Linux runs on other nodes",
    summary: "a DaemonSet for Linux on Windows nodes, or on virtual nodes",
    scopes: [Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check }],
};

/// Nodes with these labels are not machines.
const VIRTUAL: [(&str, &str); 2] =
    [("type", "virtual-kubelet"), ("eks.amazonaws.com/compute-type", "fargate")];

fn check(query: &Query<'_>, found: &mut Findings) {
    if query.item.kind() != Kind::DaemonSet || !query.knows_nodes() {
        return;
    }
    let (mut foreign, mut virtual_) = (MatchingNodes::default(), MatchingNodes::default());
    query.inventory().has_node(&query.details.allowed_nodes(), |item, node| {
        if node.taint_against(&query.details.tolerations).is_none() {
            if is_virtual(node) {
                virtual_.add(item);
            } else if query.details.system.is_some_and(|system| is_foreign(node, system)) {
                foreign.add(item);
            }
        }
        false
    });
    if let Some(system) = query.details.system.filter(|_| foreign.count() > 0) {
        let message = format!(
            "it needs {}, but its pods also go to {foreign} with another system, where they \
             cannot run",
            system.name(),
        );
        let help = format!("set nodeSelector kubernetes.io/os: {}", system.label());
        found.via(Kind::Node, &POD_SPEC, Reason::Invalid, message, help);
    }
    if virtual_.count() > 0 {
        let message = format!(
            "it also gets pods on {virtual_}, virtual and without daemons: they stay Pending"
        );
        let help = "tolerate only the taints of machines, or exclude these nodes by node affinity";
        found.via(Kind::Node, &POD_SPEC.child("tolerations"), Reason::Invalid, message, help);
    }
}

fn is_virtual(node: &Node) -> bool {
    VIRTUAL.iter().any(|(key, value)| node.labels.get(key) == Some(value))
}

fn is_foreign(node: &Node, system: System) -> bool {
    let label = node.labels.get("kubernetes.io/os");
    label.is_some_and(|label| label != system.label())
}
