//! The vocabulary of Kubernetes: names, labels, selectors, quantities, releases and gates.

pub(crate) mod allowed;
pub mod claims;
pub mod cluster;
pub mod containers;
pub mod int_or_percent;
pub mod labels;
pub mod names;
pub mod node_selector;
pub mod quantity;
pub mod resource;
pub mod selector;
pub mod tolerations;
