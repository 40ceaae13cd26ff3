//! What the API server refuses in metadata, pods and claims, whoever sends them.
//!
//! Two families of rules look at a pod template with these: one for what the API server says of the
//! template itself, the other for what it says of the pods and claims that a controller makes from
//! it. Each function names the upstream function that it follows.

pub(crate) mod claims;
pub(crate) mod created_claim;
pub(crate) mod created_pod;
pub(crate) mod object_meta;
pub(crate) mod pod;
pub(crate) mod pod_template;
