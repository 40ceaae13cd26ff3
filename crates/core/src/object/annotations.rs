//! setguard's own annotations and labels.

/// The annotation that names the node that a paired controller creates a pod for.
pub const NODE_ANNOTATION: &str = "setguard.io/node";

/// The label that requests the control-plane tolerations for a DaemonSet, or for all DaemonSets of
/// a namespace.
pub const CONTROL_PLANE_LABEL: &str = "setguard.io/control-plane";

/// The annotation that exempts an object from warnings: rule ids, separated by commas.
pub const IGNORE_ANNOTATION: &str = "setguard.io/ignore";

/// The annotation that lets the users listed in the policy exceed a limit: `LIMIT=LAST-DAY`,
/// separated by commas.
pub const EXCEED_ANNOTATION: &str = "setguard.io/exceed";

/// The annotation of a webhook configuration that records its intended webhooks, with their rules,
/// as a JSON list.
pub const WEBHOOKS_ANNOTATION: &str = "setguard.io/webhooks";

/// The annotation of a webhook configuration that names the kind of the other configuration,
/// installed with it under the same name.
pub const SIBLING_ANNOTATION: &str = "setguard.io/sibling";

/// The label of the ConfigMap that is patched in dry runs to show that the API server calls
/// setguard.
pub const REHEARSAL_LABEL: &str = "setguard.io/rehearsal";
