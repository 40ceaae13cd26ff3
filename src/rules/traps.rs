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
mod grace_period_zero;
mod history_limit_zero;
mod host_network_dns;
mod host_port_spread;
pub(crate) mod immutable_field;
mod legacy_master_toleration;
mod legacy_node_label;
mod long_ready_seconds;
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
mod partition_covers_all;
mod partition_is_an_index;
mod partition_left_set;
mod pod_never_created;
mod pre_stop_outlasts_grace;
mod read;
mod rollout_blocked;
mod selector_on_managed_labels;
mod selector_too_broad;
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

use super::trap::Trap;
/// Every trap, in alphabetical order.
pub static TRAPS: &[&Trap] = &[
    &canary_ordinals::TRAP,
    &claim_hides_volume::TRAP,
    &claim_metadata_invalid::TRAP,
    &claim_name_duplicate::TRAP,
    &claim_unmounted::TRAP,
    &claim_without_class::TRAP,
    &claims_deleted_on_scale_down::TRAP,
    &control_plane_not_tolerated::TRAP,
    &daemon_without_priority::TRAP,
    &duplicate_entry::TRAP,
    &grace_period_zero::TRAP,
    &history_limit_zero::TRAP,
    &host_network_dns::TRAP,
    &host_port_spread::TRAP,
    &immutable_field::TRAP,
    &legacy_master_toleration::TRAP,
    &legacy_node_label::TRAP,
    &long_ready_seconds::TRAP,
    &max_unavailable_everything::TRAP,
    &max_unavailable_ignored::TRAP,
    &max_unavailable_ordered::TRAP,
    &name_too_long::TRAP,
    &no_readiness_probe::TRAP,
    &on_delete_change::TRAP,
    &on_delete_ignores_rolling_update::TRAP,
    &ordered_rollout_stuck::TRAP,
    &ordinal_overflow::TRAP,
    &ordinals_renumbered::TRAP,
    &partition_covers_all::TRAP,
    &partition_is_an_index::TRAP,
    &partition_left_set::TRAP,
    &pod_never_created::TRAP,
    &pre_stop_outlasts_grace::TRAP,
    &rollout_blocked::TRAP,
    &selector_on_managed_labels::TRAP,
    &selector_too_broad::TRAP,
    &self_anti_affinity::TRAP,
    &service_name_empty::TRAP,
    &shared_volume::TRAP,
    &spread_in_daemonset::TRAP,
    &surge_host_port::TRAP,
    &surge_shared_node_resource::TRAP,
    &template_finalizers::TRAP,
    &template_hostname_ignored::TRAP,
    &template_node_annotation::TRAP,
    &template_node_name::TRAP,
    &template_scheduling_gates::TRAP,
    &tolerates_everything::TRAP,
    &toleration_duplicate::TRAP,
    &toleration_seconds_loop::TRAP,
    &unschedulable_affinity::TRAP,
];
