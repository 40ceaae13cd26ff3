//! The descriptions of the rules of injection.

use crate::{
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
    rules::traps::toleration_seconds_loop,
};

/// The rules of injection, and the kinds of object that they check.
pub static KINDS: &[(&Meta, &[Kind])] = &[
    (&CONTROL_PLANE_INJECTION, &[Kind::DaemonSet]),
    (&NODE_PIN_CONFLICT, &[Kind::Pod]),
    (&UNPAIRED_NODE_ANNOTATION, &[Kind::Pod]),
    // A trap that checks templates. For pods, injection itself reports it.
    (&toleration_seconds_loop::RULE.meta, &[Kind::Pod]),
];

/// The rule that reports tolerations that are injected into the template of a DaemonSet.
pub static CONTROL_PLANE_INJECTION: Meta = Meta {
    id: "control-plane-injection",
    summary: "a DaemonSet to which setguard adds control-plane tolerations, as requested",
    why: "\
This is not a fault: it reports what will be stored. A DaemonSet with the label
setguard.io/control-plane: \"true\", or in a namespace with that label, requests the tolerations of the control
plane. The webhook adds the missing ones to its template when it is created and when it is changed.
`setguard check` checks such a DaemonSet with these tolerations. A tool that compares the stored object with
the applied one, such as a GitOps controller, sees the difference: write the tolerations into the template, or
configure the tool to ignore them.

Kubernetes: only the template counts, since `NodeShouldRunDaemonPod` (pkg/controller/daemon/
daemon_controller.go) uses it to decide whether a node gets a pod at all; injection into pods comes too late.",
    bad: include_str!("examples/control-plane-injection.bad.yaml"),
    good: include_str!("examples/control-plane-injection.good.yaml"),
    mode: Mode::Audit,
    adjustable: true,
};

/// The rule about injected tolerations that stay. It is evaluated with the traps, in updates.
pub static CONTROL_PLANE_TOLERATIONS_LEFT: Meta = Meta {
    id: "control-plane-tolerations-left",
    summary: "tolerations that setguard added, in a DaemonSet that no longer requests them",
    why: "\
For the label setguard.io/control-plane: \"true\" the webhook adds tolerations to the template of a
DaemonSet. What a webhook adds belongs to no field manager. So when the label is removed, no apply removes
the tolerations: the pods stay on the nodes of the control plane, and new ones get there, although neither
the manifest nor the label says so any more. setguard does not remove them itself: it cannot tell them from
tolerations that a user has added without a manifest. It warns in the update that removes the label, with
the command. When the label of a *namespace* is removed, no DaemonSet is written, and nothing warns.

Kubernetes: managed fields are updated before admission; `Update`, apimachinery
pkg/util/managedfields/internal/fieldmanager.go.",
    bad: include_str!("examples/control-plane-tolerations-left.bad.yaml"),
    good: include_str!("examples/control-plane-tolerations-left.good.yaml"),
    mode: Mode::Warn,
    adjustable: true,
};

/// The rule against a node pin that cannot be met.
pub static NODE_PIN_CONFLICT: Meta = Meta {
    id: "node-pin-conflict",
    summary: "a pod created for one node whose own affinity ties it to another",
    why: "\
A paired controller creates a pod for one node, and names the node in the annotation setguard.io/node.
setguard adds that node to every required term of the pod's node affinity, so that the scheduler can place
the pod there and nowhere else. If the pod's own affinity excludes the node, no node is left: the pod would
stay Pending forever, its controller would wait for it, and neither would report why. Instead, setguard
denies the pod and names both nodes.

Kubernetes: terms are ORed, requirements within a term are ANDed, an empty term selects nothing
(component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go).",
    bad: include_str!("examples/node-pin-conflict.bad.yaml"),
    good: include_str!("examples/node-pin-conflict.good.yaml"),
    mode: Mode::Deny,
    adjustable: false,
};

/// The rule against the annotation from a user that is not a paired controller.
pub static UNPAIRED_NODE_ANNOTATION: Meta = Meta {
    id: "unpaired-node-annotation",
    summary: "setguard.io/node on a pod from a user that is not a paired controller",
    why: "\
The annotation setguard.io/node is the contract between setguard and a paired controller: users who may set
it get tolerations for the control plane and a pin to a node of their choice. So setguard accepts it only from
the users and groups that the policy lists under injection.pairedControllers. From other users it has no
effect, and setguard warns about it; with injection.unpairedAnnotation: deny it denies the pod.",
    bad: include_str!("examples/unpaired-node-annotation.bad.yaml"),
    good: include_str!("examples/unpaired-node-annotation.good.yaml"),
    mode: Mode::Warn,
    adjustable: true,
};
