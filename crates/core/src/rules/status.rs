//! Code that the status rules share: why a pod is missing, and why a rollout does not continue.
//!
//! No two rules report one cause: the rule that explains the most runs first, and the others skip what it explains.

pub(crate) mod budget_eaten;
pub(crate) mod claims;
pub(crate) mod daemon_set;
pub(crate) mod external_faults;
pub(crate) mod flapping;
pub(crate) mod nearest_nodes;
pub(crate) mod node_without_pod_since;
pub mod outlook;
pub(crate) mod phrases;
pub(crate) mod pod_events;
pub(crate) mod pod_loop;
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
