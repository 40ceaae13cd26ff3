//! The validation of a pod spec, one module per part. `pod_template` combines them.
//!
//! Kubernetes: `ValidatePodSpec`. Functions without a file are in `pkg/apis/core/validation/validation.go`.

pub(crate) mod affinity;
pub(crate) mod allowances;
pub(crate) mod annotations;
pub(crate) mod consistency;
pub(crate) mod containers;
pub(crate) mod context;
pub(crate) mod dns;
pub(crate) mod env;
pub(crate) mod ephemeral;
pub(crate) mod ephemeral_containers;
pub(crate) mod eviction;
pub(crate) mod host;
pub(crate) mod mounts;
pub(crate) mod options;
pub(crate) mod os;
pub(crate) mod ports;
pub(crate) mod probes;
pub(crate) mod projected;
pub(crate) mod resource_claims;
pub(crate) mod resources;
pub(crate) mod restart;
pub(crate) mod scheduling;
pub(crate) mod security_context;
pub(crate) mod spread;
pub(crate) mod tolerations;
pub(crate) mod util;
pub(crate) mod volume_sources;
pub(crate) mod volumes;
pub(crate) mod windows;
