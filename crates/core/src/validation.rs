//! The API server's validation of metadata, pods and claims.
//!
//! One family of rules reports the API server's errors for a pod template itself, the other its errors for the pods and
//! claims that a controller creates from it. Functions without a file are in Kubernetes'
//! `pkg/apis/core/validation/validation.go`.

pub(crate) mod claims;
pub(crate) mod created_claim;
pub(crate) mod created_pod;
pub(crate) mod object_meta;
pub(crate) mod pod;
pub(crate) mod pod_template;
mod prelude;
