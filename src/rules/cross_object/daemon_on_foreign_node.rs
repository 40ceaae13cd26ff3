//! A DaemonSet whose pods go to nodes that cannot run them.

use super::nodes::MatchingNodes;
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    inventory::{node::Node, system::System},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "daemon-on-foreign-node",
        summary: "a DaemonSet for Linux on Windows nodes, or on virtual nodes",
        why: "\
A DaemonSet gets a pod on every node that its labels and taints allow, also on one that cannot run it. The
controller does not look at `spec.os`, nor at the image: the pod of a Linux daemon goes to Windows nodes too.
The kubelet there rejects it if it has `spec.os`, and the controller creates the next; otherwise the image has
nothing for Windows, or its containers do not start. Virtual nodes, of AWS Fargate or a Virtual Kubelet, run
no daemon pods at all: the pod stays Pending. In each case the rollout does not end.

Seen on a 1.37 control plane: a node with `kubernetes.io/os: windows` gets a pod of a DaemonSet with
`spec.os.name: linux`, and the scheduler binds it.

A template is for Linux or for Windows if `spec.os` says so, or if it has what only one of them has:
`privileged`, added capabilities, the processes of the node or one of its folders /dev, /lib/modules, /proc
and /sys; or `windowsOptions`. An image alone does not show it. Virtual nodes have a taint, so only daemons
that tolerate it are reported, for example all taints.

`setguard check` reports this if it gets the Nodes of the cluster with `--inventory`.

Kubernetes: `NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go;
`rejectPodAdmissionBasedOnOSField`, pkg/kubelet/lifecycle/predicate.go.",
        bad: include_str!("examples/daemon-on-foreign-node.bad.yaml"),
        good: include_str!("examples/daemon-on-foreign-node.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check },
};

/// The labels of nodes that are no machines, with their values.
const VIRTUAL: [(&str, &str); 2] =
    [("type", "virtual-kubelet"), ("eks.amazonaws.com/compute-type", "fargate")];

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let details = query.item.details().filter(|_| query.item.kind() == Kind::DaemonSet);
    let Some(details) = details else { return };
    if query.inventory().count(Kind::Node) == 0 || !query.knows(Kind::Node, "") {
        return;
    }
    let (mut foreign, mut virtual_) = (MatchingNodes::default(), MatchingNodes::default());
    query.inventory().has_node(&details.allowed_nodes(), |item, node| {
        if node.taint_against(&details.tolerations).is_none() {
            if is_virtual(node) {
                virtual_.add(item);
            } else if details.system.is_some_and(|system| is_foreign(node, system)) {
                foreign.add(item);
            }
        }
        false
    });
    if let Some(system) = details.system.filter(|_| foreign.count() > 0) {
        found.report(
            Kind::Node,
            &POD_SPEC,
            Reason::Invalid,
            format!(
                "it needs {}, but its pods also go to {foreign} with another system, where they \
                 cannot run",
                system.name(),
            ),
            format!("set nodeSelector kubernetes.io/os: {}", system.label()),
        );
    }
    if virtual_.count() > 0 {
        found.report(
            Kind::Node,
            &POD_SPEC.child("tolerations"),
            Reason::Invalid,
            format!(
                "it also gets pods on {virtual_}, virtual and without daemons: they stay Pending"
            ),
            "tolerate only the taints of machines, or exclude these nodes by node affinity",
        );
    }
}

fn is_virtual(node: &Node) -> bool {
    VIRTUAL.iter().any(|(key, value)| node.labels.get(key) == Some(value))
}

fn is_foreign(node: &Node, system: System) -> bool {
    let label = node.labels.get("kubernetes.io/os");
    label.is_some_and(|label| label != system.label())
}
