//! What the rules about the status of DaemonSets and StatefulSets have in common: why there is no pod, and why a rollout does not
//! go on.
//!
//! No two rules report one cause: what explains most is asked first, and the others leave it alone.

pub(crate) mod budget_eaten;
pub(crate) mod claims;
pub(crate) mod daemon_set;
pub(crate) mod external_faults;
pub(crate) mod flapping;
pub(crate) mod foreign_text;
pub(crate) mod nearest_nodes;
pub(crate) mod node_without_pod_since;
pub mod outlook;
pub(crate) mod phrases;
pub(crate) mod pod_events;
pub(crate) mod quota;
pub(crate) mod refusal;
pub(crate) mod revisions;
pub(crate) mod scaling;
pub(crate) mod scheduler;
pub(crate) mod stateful_set;
pub(crate) mod template_churn;
pub(crate) mod toleration;
pub(crate) mod volumes;
pub(crate) mod waiting_pod;
pub(crate) mod webhooks;
