//! setguard's own annotations and labels.

/// The annotation that names the node that a paired controller creates a pod for.
pub const NODE_ANNOTATION: &str = "setguard.io/node";

/// The label that requests the control-plane tolerations for a DaemonSet, or for all in a namespace.
pub const CONTROL_PLANE_LABEL: &str = "setguard.io/control-plane";

/// The annotation that exempts an object from warnings: rule ids, separated by commas.
pub const IGNORE_ANNOTATION: &str = "setguard.io/ignore";

/// The annotation that lets users of the policy exceed a limit: `LIMIT=LAST-DAY`, separated by commas.
pub const EXCEED_ANNOTATION: &str = "setguard.io/exceed";

/// The annotation of a webhook configuration that records its intended webhooks, as a JSON list.
pub const WEBHOOKS_ANNOTATION: &str = "setguard.io/webhooks";

/// The annotation of a webhook configuration with the kind of the other one, installed under the same name.
pub const SIBLING_ANNOTATION: &str = "setguard.io/sibling";

/// The label of the ConfigMap that dry runs patch to show that the API server calls setguard.
pub const REHEARSAL_LABEL: &str = "setguard.io/rehearsal";
