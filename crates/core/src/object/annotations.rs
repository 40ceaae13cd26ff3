//! setguard's own annotations and labels.

/// The annotation in which a paired controller names the node that a pod is made for.
pub const NODE_ANNOTATION: &str = "setguard.io/node";

/// The label with which a DaemonSet, or its namespace, requests the control-plane tolerations.
pub const CONTROL_PLANE_LABEL: &str = "setguard.io/control-plane";

/// The annotation with which an object exempts itself from warnings: rule ids, separated by commas.
pub const IGNORE_ANNOTATION: &str = "setguard.io/ignore";

/// The annotation with which those whom the policy lists exceed a limit: `LIMIT=LAST-DAY`, separated by
/// commas.
pub const EXCEED_ANNOTATION: &str = "setguard.io/exceed";

/// The annotation of a webhook configuration with its webhooks as they should be, with their rules: a JSON list.
pub const WEBHOOKS_ANNOTATION: &str = "setguard.io/webhooks";

/// The annotation of a webhook configuration with the kind of the other one that was installed with it, under the
/// same name.
pub const SIBLING_ANNOTATION: &str = "setguard.io/sibling";

/// The label of the ConfigMap whose dry-run patches show that the API server calls setguard.
pub const REHEARSAL_LABEL: &str = "setguard.io/rehearsal";
