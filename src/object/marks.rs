//! The annotations and labels that are ours.

/// The annotation by which a paired controller names the node that a pod is made for.
pub const NODE_ANNOTATION: &str = "setguard.io/node";

/// The label by which a DaemonSet, or its namespace, asks for the control-plane tolerations.
pub const CONTROL_PLANE_LABEL: &str = "setguard.io/control-plane";

/// The annotation by which an object asks to be let off warnings: rule ids, separated by commas.
pub const IGNORE_ANNOTATION: &str = "setguard.io/ignore";
