//! The API server's validation of metadata, pods and claims, for every caller.
//!
//! Two families of rules use it on a pod template. One reports the API server's errors for the
//! template itself, the other its errors for the pods and claims that a controller creates from it.
//! Each function names the upstream function that it follows.

pub(crate) mod claims;
pub(crate) mod created_claim;
pub(crate) mod created_pod;
pub(crate) mod object_meta;
pub(crate) mod pod;
pub(crate) mod pod_template;
