//! What the rules of injection say of themselves.

use crate::{
    finding::{Meta, Mode},
    rules::traps::toleration_seconds_loop,
};

/// The rules of injection, and the kinds of object that they look at.
pub static KINDS: &[(&Meta, &[&str])] = &[
    (&CONTROL_PLANE_INJECTION, &["DaemonSet"]),
    (&NODE_PIN_CONFLICT, &["Pod"]),
    (&UNPAIRED_NODE_ANNOTATION, &["Pod"]),
    // A trap that looks at templates; of a pod, injection itself reports it.
    (&toleration_seconds_loop::TRAP.meta, &["Pod"]),
];

/// The rule that tells of tolerations put into the template of a DaemonSet.
pub static CONTROL_PLANE_INJECTION: Meta = Meta {
    id: "control-plane-injection",
    summary: "a DaemonSet that setguard brings to the control plane, as it asks for",
    why: "\
This is no fault: it tells what will be stored. A DaemonSet labelled setguard.io/control-plane: \"true\", or in
a namespace labelled so, asks for the tolerations of the control plane, and the webhook puts those that are
missing into its template, when it is created and when it is changed. `setguard check` judges such a
DaemonSet as it will be then. A tool that compares what is stored with what was applied, such as a GitOps
controller, sees the difference: write the tolerations into the template, or have the tool pass over them.

Kubernetes: only the template counts, since `NodeShouldRunDaemonPod` (pkg/controller/daemon/
daemon_controller.go) decides by it whether a node gets a pod at all; what is put into pods comes too late.",
    bad: include_str!("examples/control-plane-injection.bad.yaml"),
    good: include_str!("examples/control-plane-injection.good.yaml"),
    mode: Mode::Audit,
    since: "0.1.0",
    adjustable: true,
};

/// The rule against a pin that cannot be.
pub static NODE_PIN_CONFLICT: Meta = Meta {
    id: "node-pin-conflict",
    summary: "a pod made for one node whose own affinity ties it to another",
    why: "\
A paired controller makes a pod for one node and says so with the annotation setguard.io/node. setguard
puts that node into every required term of the pod's node affinity, so that the scheduler can place the
pod there and nowhere else. If the pod's own affinity excludes the node, no node is left: the pod would
stay Pending for ever, its controller would wait for it, and neither would say why. setguard refuses the
pod and names both nodes instead.

Kubernetes: terms are ORed, requirements within a term are ANDed, an empty term selects nothing
(component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go).",
    bad: include_str!("examples/node-pin-conflict.bad.yaml"),
    good: include_str!("examples/node-pin-conflict.good.yaml"),
    mode: Mode::Deny,
    since: "0.1.0",
    adjustable: false,
};

/// The rule against the annotation of somebody who is not paired.
pub static UNPAIRED_NODE_ANNOTATION: Meta = Meta {
    id: "unpaired-node-annotation",
    summary: "setguard.io/node on a pod of somebody who is not a paired controller",
    why: "\
The annotation setguard.io/node is the contract between setguard and a paired controller: whoever may set
it gets tolerations for the control plane and a pin to a node of their choice. So setguard heeds it only
from the users and groups that the policy lists under injection.pairedControllers. From anybody else it
changes nothing, and setguard says so; with injection.unpairedAnnotation: deny the pod is refused.",
    bad: include_str!("examples/unpaired-node-annotation.bad.yaml"),
    good: include_str!("examples/unpaired-node-annotation.good.yaml"),
    mode: Mode::Warn,
    since: "0.1.0",
    adjustable: true,
};
