//! The rules for a pod spec, one module for each part. `pod_template` combines them.
//!
//! Kubernetes: `ValidatePodSpec` and what it calls in `pkg/apis/core/validation/validation.go`.

pub(super) mod affinity;
pub(super) mod allowances;
pub(super) mod annotations;
pub(super) mod consistency;
pub(super) mod containers;
pub(super) mod context;
pub(super) mod dns;
pub(super) mod dropped;
pub(super) mod env;
pub(super) mod ephemeral;
pub(super) mod ephemeral_containers;
pub(super) mod host;
pub(super) mod mounts;
pub(super) mod options;
pub(super) mod os;
pub(super) mod ports;
pub(super) mod probes;
pub(super) mod projected;
pub(super) mod resource_claims;
pub(super) mod resources;
pub(super) mod restart;
pub(super) mod security_context;
pub(super) mod spread;
pub(super) mod tolerations;
pub(super) mod util;
pub(super) mod volume_sources;
pub(super) mod volumes;
pub(super) mod windows;
