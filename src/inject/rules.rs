//! What the rules of injection say of themselves.

use crate::finding::{Meta, Mode};

/// Id of the rule that tells of tolerations put into the template of a DaemonSet.
pub const CONTROL_PLANE_INJECTION: &str = "control-plane-injection";

/// Id of the rule against a pin that cannot be.
pub const NODE_PIN_CONFLICT: &str = "node-pin-conflict";

/// Id of the rule against tolerations that would have the pod evicted. A trap by the same name
/// looks for them in the template of a DaemonSet.
pub const TOLERATION_SECONDS_LOOP: &str = "toleration-seconds-loop";

/// Id of the rule against the annotation of somebody who is not paired.
pub const UNPAIRED_NODE_ANNOTATION: &str = "unpaired-node-annotation";

/// What the rules of injection say of themselves.
pub static METAS: [Meta; 3] = [
    Meta {
        id: CONTROL_PLANE_INJECTION,
        summary: "a DaemonSet that setguard brings to the control plane, as it asks for",
        why: include_str!("control_plane_injection.why.md"),
        bad: include_str!("control_plane_injection.bad.yaml"),
        good: include_str!("control_plane_injection.good.yaml"),
        mode: Mode::Audit,
        kinds: &["DaemonSet"],
        since: "0.1.0",
        adjustable: true,
    },
    Meta {
        id: NODE_PIN_CONFLICT,
        summary: "a pod made for one node whose own affinity ties it to another",
        why: include_str!("node_pin_conflict.why.md"),
        bad: include_str!("node_pin_conflict.bad.yaml"),
        good: include_str!("node_pin_conflict.good.yaml"),
        mode: Mode::Deny,
        kinds: &["Pod"],
        since: "0.1.0",
        adjustable: false,
    },
    Meta {
        id: UNPAIRED_NODE_ANNOTATION,
        summary: "setguard.io/node on a pod of somebody who is not a paired controller",
        why: include_str!("unpaired_node_annotation.why.md"),
        bad: include_str!("unpaired_node_annotation.bad.yaml"),
        good: include_str!("unpaired_node_annotation.good.yaml"),
        mode: Mode::Warn,
        kinds: &["Pod"],
        since: "0.1.0",
        adjustable: true,
    },
];
