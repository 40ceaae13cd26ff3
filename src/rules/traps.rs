//! The traps: settings that the API server accepts but that do not work, or not as intended. Each
//! trap has its own file.

mod canary_ordinals;
mod claim_hides_volume;
mod claim_metadata_invalid;
mod claim_name_duplicate;
mod claim_unmounted;
mod claim_without_class;
mod claims_deleted_on_scale_down;
mod control_plane_not_tolerated;
mod daemon_without_priority;
mod duplicate_entry;
mod field_dropped;
mod fs_group_on_large_volume;
mod git_repo_volume;
mod grace_period_zero;
mod history_limit_zero;
mod host_network_dns;
mod host_port_of_kubelet;
mod host_port_spread;
pub(crate) mod immutable_field;
mod immutable_release_label;
mod legacy_master_toleration;
mod legacy_node_label;
pub mod limits;
mod long_ready_seconds;
mod many_pods_at_once;
mod max_unavailable_everything;
mod max_unavailable_ignored;
mod max_unavailable_ordered;
mod name_too_long;
mod no_readiness_probe;
mod on_delete_change;
mod on_delete_ignores_rolling_update;
mod ordered_rollout_stuck;
mod ordinal_overflow;
mod ordinals_renumbered;
mod parallel_rollout_stuck;
mod partition_covers_all;
mod partition_is_an_index;
mod partition_left_set;
mod pod_never_created;
mod pre_stop_outlasts_grace;
pub(crate) mod read;
mod rollout_blocked;
mod selector_on_managed_labels;
mod selector_too_broad;
mod self_affinity_in_daemonset;
mod self_anti_affinity;
mod service_name_empty;
mod shared_volume;
mod spread_in_daemonset;
mod surge_host_port;
mod surge_shared_node_resource;
mod template_finalizers;
mod template_hostname_ignored;
mod template_node_annotation;
mod template_node_name;
mod template_scheduling_gates;
mod tolerates_everything;
mod toleration_duplicate;
pub(crate) mod toleration_seconds_loop;
mod unschedulable_affinity;

use super::rule::{Cel, Rule};
/// Every trap, in alphabetical order.
pub static TRAPS: &[&Rule] = &[
    &canary_ordinals::RULE,
    &claim_hides_volume::RULE,
    &claim_metadata_invalid::RULE,
    &claim_name_duplicate::RULE,
    &claim_unmounted::RULE,
    &claim_without_class::RULE,
    &claims_deleted_on_scale_down::RULE,
    &control_plane_not_tolerated::RULE,
    &daemon_without_priority::RULE,
    &duplicate_entry::RULE,
    &field_dropped::RULE,
    &fs_group_on_large_volume::RULE,
    &git_repo_volume::RULE,
    &grace_period_zero::RULE,
    &history_limit_zero::RULE,
    &host_network_dns::RULE,
    &host_port_of_kubelet::RULE,
    &host_port_spread::RULE,
    &immutable_field::RULE,
    &immutable_release_label::RULE,
    &legacy_master_toleration::RULE,
    &legacy_node_label::RULE,
    &long_ready_seconds::RULE,
    &many_pods_at_once::RULE,
    &max_unavailable_everything::RULE,
    &max_unavailable_ignored::RULE,
    &max_unavailable_ordered::RULE,
    &name_too_long::RULE,
    &no_readiness_probe::RULE,
    &on_delete_change::RULE,
    &on_delete_ignores_rolling_update::RULE,
    &ordered_rollout_stuck::RULE,
    &ordinal_overflow::RULE,
    &ordinals_renumbered::RULE,
    &parallel_rollout_stuck::RULE,
    &partition_covers_all::RULE,
    &partition_is_an_index::RULE,
    &partition_left_set::RULE,
    &pod_never_created::RULE,
    &pre_stop_outlasts_grace::RULE,
    &rollout_blocked::RULE,
    &selector_on_managed_labels::RULE,
    &selector_too_broad::RULE,
    &self_affinity_in_daemonset::RULE,
    &self_anti_affinity::RULE,
    &service_name_empty::RULE,
    &shared_volume::RULE,
    &spread_in_daemonset::RULE,
    &surge_host_port::RULE,
    &surge_shared_node_resource::RULE,
    &template_finalizers::RULE,
    &template_hostname_ignored::RULE,
    &template_node_annotation::RULE,
    &template_node_name::RULE,
    &template_scheduling_gates::RULE,
    &tolerates_everything::RULE,
    &toleration_duplicate::RULE,
    &toleration_seconds_loop::RULE,
    &unschedulable_affinity::RULE,
];

/// The traps that the API server can find itself, by an expression in CEL.
pub static IN_CEL: &[(&Rule, &Cel)] = &[
    (&claim_hides_volume::RULE, &claim_hides_volume::CEL),
    (&claim_name_duplicate::RULE, &claim_name_duplicate::CEL),
    (&claim_unmounted::RULE, &claim_unmounted::CEL),
    (&claim_without_class::RULE, &claim_without_class::CEL),
    (&claims_deleted_on_scale_down::RULE, &claims_deleted_on_scale_down::CEL),
    (&control_plane_not_tolerated::RULE, &control_plane_not_tolerated::CEL),
    (&daemon_without_priority::RULE, &daemon_without_priority::CEL),
    (&duplicate_entry::RULE, &duplicate_entry::CEL),
    (&fs_group_on_large_volume::RULE, &fs_group_on_large_volume::CEL),
    (&git_repo_volume::RULE, &git_repo_volume::CEL),
    (&grace_period_zero::RULE, &grace_period_zero::CEL),
    (&history_limit_zero::RULE, &history_limit_zero::CEL),
    (&host_port_spread::RULE, &host_port_spread::CEL),
    (&legacy_master_toleration::RULE, &legacy_master_toleration::CEL),
    (&legacy_node_label::RULE, &legacy_node_label::CEL),
    (&long_ready_seconds::RULE, &long_ready_seconds::CEL),
    (&max_unavailable_ordered::RULE, &max_unavailable_ordered::CEL),
    (&name_too_long::RULE, &name_too_long::CEL),
    (&no_readiness_probe::RULE, &no_readiness_probe::CEL),
    (&on_delete_change::RULE, &on_delete_change::CEL),
    (&on_delete_ignores_rolling_update::RULE, &on_delete_ignores_rolling_update::CEL),
    (&ordered_rollout_stuck::RULE, &ordered_rollout_stuck::CEL),
    (&ordinal_overflow::RULE, &ordinal_overflow::CEL),
    (&ordinals_renumbered::RULE, &ordinals_renumbered::CEL),
    (&partition_covers_all::RULE, &partition_covers_all::CEL),
    (&partition_is_an_index::RULE, &partition_is_an_index::CEL),
    (&partition_left_set::RULE, &partition_left_set::CEL),
    (&selector_on_managed_labels::RULE, &selector_on_managed_labels::CEL),
    (&selector_too_broad::RULE, &selector_too_broad::CEL),
    (&self_affinity_in_daemonset::RULE, &self_affinity_in_daemonset::CEL),
    (&self_anti_affinity::RULE, &self_anti_affinity::CEL),
    (&service_name_empty::RULE, &service_name_empty::CEL),
    (&spread_in_daemonset::RULE, &spread_in_daemonset::CEL),
    (&surge_host_port::RULE, &surge_host_port::CEL),
    (&surge_shared_node_resource::RULE, &surge_shared_node_resource::CEL),
    (&template_finalizers::RULE, &template_finalizers::CEL),
    (&template_hostname_ignored::RULE, &template_hostname_ignored::CEL),
    (&template_node_annotation::RULE, &template_node_annotation::CEL),
    (&template_node_name::RULE, &template_node_name::CEL),
    (&template_scheduling_gates::RULE, &template_scheduling_gates::CEL),
    (&tolerates_everything::RULE, &tolerates_everything::CEL),
    (&toleration_duplicate::RULE, &toleration_duplicate::CEL),
    (&toleration_seconds_loop::RULE, &toleration_seconds_loop::CEL),
];
