//! Rules about several objects.
//!
//! A rule checks one object against the other items of an inventory. There may be many, so no rule
//! iterates over all of them: the inventory has indexes.

mod autoscaler_fights_replicas;
mod bootstrap_deadlock;
mod budgets;
pub mod daemon_leaves_nodes;
mod daemon_on_foreign_node;
mod host_port_conflict;
mod immediate_binding_across_zones;
mod many_service_links;
mod missing;
mod no_node_matches;
mod nodes;
mod pdb_blocks_drain;
mod pdb_keeps_broken_pods;
mod pdb_overlap;
mod pdb_without_scale;
mod pods_refused_by_pod_security;
mod priority_class_missing;
mod replicas_without_budget;
mod requests_exceed_node;
mod selector_overlap;
mod service_account_missing;
mod service_missing;
mod service_not_headless;
mod service_selects_nothing;
mod services;
mod storage_class_missing;
mod taint_no_longer_tolerated;

use super::rule::Rule;

/// Every rule about several objects, in alphabetical order.
pub static RULES: &[&Rule] = &[
    &autoscaler_fights_replicas::RULE,
    &bootstrap_deadlock::RULE,
    &daemon_leaves_nodes::RULE,
    &daemon_on_foreign_node::RULE,
    &host_port_conflict::RULE,
    &immediate_binding_across_zones::RULE,
    &many_service_links::RULE,
    &no_node_matches::RULE,
    &pdb_blocks_drain::RULE,
    &pdb_keeps_broken_pods::RULE,
    &pdb_overlap::RULE,
    &pdb_without_scale::RULE,
    &pods_refused_by_pod_security::RULE,
    &priority_class_missing::RULE,
    &replicas_without_budget::RULE,
    &requests_exceed_node::RULE,
    &selector_overlap::RULE,
    &service_account_missing::RULE,
    &service_missing::RULE,
    &service_not_headless::RULE,
    &service_selects_nothing::RULE,
    &storage_class_missing::RULE,
    &taint_no_longer_tolerated::RULE,
];
