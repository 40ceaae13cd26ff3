//! The vocabulary of Kubernetes: kinds, names, labels, selectors, quantities, tolerations,
//! pod security, releases and feature gates.

pub(crate) mod absent;
pub(crate) mod allowed;
pub mod cluster;
pub mod config_references;
pub mod containers;
pub mod duration;
pub(crate) mod exec;
pub(crate) mod image;
pub mod int_or_percent;
pub mod kind;
pub mod labels;
pub(crate) mod loopback;
pub(crate) mod managed_labels;
pub mod names;
pub mod node_selector;
pub(crate) mod pod_affinity;
pub mod pod_security;
pub mod quantity;
pub mod resource;
pub mod selector;
pub mod semantic;
pub(crate) mod taints;
pub mod tolerations;
pub mod version;
