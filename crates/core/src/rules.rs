//! The rules. To add one, add a folder with its code, `why.md`, `bad.yaml` and `good.yaml`, and a line in the list
//! below. `cel.yaml` has the fault of a trap in CEL.

mod command;
mod neighbors;
mod prelude;
pub(crate) mod read;
mod rollout_waits;
/// How a rule is declared.
pub mod rule;
pub mod status;

use crate::rules::prelude::*;

/// A rule warns unless it sets `mode`.
macro_rules! rule {
    (
        id: $id:literal, group: $group:ident
        $(, mode: $mode:expr)? $(, adjustable: $adjustable:literal)? $(, cel: $cel:literal)?;
        title: $title:literal,
        summary: $summary:literal,
        scopes: $scopes:expr,
    ) => {
        $crate::rules::rule::Rule {
            meta: $crate::finding::Meta {
                id: $id,
                title: $title,
                summary: $summary,
                group: $crate::finding::Group::$group,
                why: $crate::rules::rule::explanation(include_str!("why.md")),
                bad: $crate::rules::rule::explanation(include_str!("bad.yaml")),
                good: $crate::rules::rule::explanation(include_str!("good.yaml")),
                mode: rule!(@mode $($mode)?),
                adjustable: true $(&& $adjustable)?,
            },
            scopes: &$crate::rules::rule::linked($scopes),
            cel: rule!(@cel $($cel)?),
        }
    };
    (@mode) => { $crate::finding::Mode::Warn };
    (@mode $mode:expr) => { $mode };
    (@cel) => { None };
    // A browser exports no policies.
    (@cel $file:literal) => {
        match cfg!(target_family = "wasm") {
            true => None,
            false => Some(|| {
                static CEL: LazyLock<Cel> = LazyLock::new(|| Cel::read(include_str!($file)));
                &CEL
            }),
        }
    };
}

macro_rules! rules {
    ($($name:ident,)*) => {
        $(#[doc = concat!("The rule `", stringify!($name), "`.")] pub mod $name;)*

        /// Every rule, sorted by id.
        pub static RULES: &[&Rule] = &[$(&$name::RULE),*];
    };
}

rules! {
    api_validation,
    api_warning,
    applied_too_late,
    autoscaler_fights_replicas,
    autoscaler_target_missing,
    bootstrap_deadlock,
    canary_ordinals,
    change_not_observed,
    claim_hides_volume,
    claim_left_behind,
    claim_metadata_invalid,
    claim_mounted_elsewhere,
    claim_name_duplicate,
    claim_not_provisioned,
    claim_pending,
    claim_size_differs,
    claim_terminating,
    claim_unmounted,
    claim_without_class,
    claims_deleted_on_scale_down,
    claims_deleted_with_set,
    class_of_claims_missing,
    command_in_one_string,
    command_not_permitted,
    config_missing,
    container_not_created,
    control_plane_injection,
    control_plane_not_tolerated,
    control_plane_selected,
    control_plane_tolerations_left,
    creation_refused,
    daemon_leaves_nodes,
    daemon_on_foreign_node,
    daemon_without_priority,
    database_major_upgrade,
    database_not_replicated,
    database_variables,
    database_without_volume,
    deleted_as_hook,
    deletion_refused,
    device_not_permitted,
    docker_socket,
    duplicate_entry,
    fewer_ready_than_wanted,
    field_dropped,
    file_not_readable,
    fqdn_too_long,
    fs_group_on_large_volume,
    gpu_taint_not_tolerated,
    grace_period_zero,
    guaranteed_lost,
    heap_above_limit,
    history_limit_zero,
    host_network_dns,
    host_path_not_writable,
    host_path_type_mismatch,
    host_port_conflict,
    host_port_of_kubelet,
    host_port_spread,
    image_gone,
    image_name_invalid,
    immediate_binding_across_zones,
    immutable_field,
    immutable_release_label,
    legacy_master_toleration,
    legacy_node_label,
    limit_exceeded,
    limit_too_small,
    listens_on_loopback,
    long_ready_seconds,
    low_port_refused,
    many_pods_at_once,
    many_service_links,
    max_unavailable_everything,
    max_unavailable_ignored,
    max_unavailable_ordered,
    misscheduled,
    monitor_port_missing,
    name_too_long,
    neighbor_refused,
    no_container_restarts,
    no_node_matches,
    no_readiness_probe,
    no_shell_in_image,
    node_down,
    node_label_unknown,
    node_not_wanted,
    node_pin_conflict,
    node_without_pod,
    on_delete_change,
    on_delete_ignores_rolling_update,
    ordered_rollout_stuck,
    ordinal_overflow,
    ordinals_renumbered,
    parallel_rollout_stuck,
    partition_covers_all,
    partition_is_an_index,
    partition_left_set,
    pdb_blocks_drain,
    pdb_keeps_broken_pods,
    pdb_overlap,
    pdb_without_scale,
    pod_name_taken,
    pod_never_created,
    pod_stuck_terminating,
    pod_template_validation,
    pods_refused_by_limits,
    pods_refused_by_pod_security,
    policy_blocks_traffic,
    policy_weakened,
    port_name_missing,
    postgres_data_directory,
    pre_stop_outlasts_grace,
    priority_class_missing,
    probe_asks_node,
    probe_without_tls,
    quantity_unit,
    removed_option,
    replicas_without_budget,
    requests_exceed_node,
    resource_container_missing,
    resource_version_set,
    revision_left_behind,
    revision_orphan,
    role_not_granted,
    rollout_blocked,
    rollout_budget_eaten,
    rollout_stuck_at_ordinal,
    root_not_allowed,
    runtime_class_missing,
    schema,
    script_not_executable,
    selector_misses_pods,
    selector_on_managed_labels,
    selector_overlap,
    selector_too_broad,
    self_affinity_in_daemonset,
    self_anti_affinity,
    service_account_missing,
    service_link_misread,
    service_local_only,
    service_missing,
    service_name_empty,
    service_not_headless,
    service_port_missing,
    service_selects_nothing,
    set_stuck_terminating,
    shared_volume,
    spread_in_daemonset,
    spread_misses_own_pods,
    storage_class_missing,
    surge_host_port,
    surge_shared_node_resource,
    sysctl_refused,
    taint_no_longer_tolerated,
    template_finalizers,
    template_hostname_ignored,
    template_leftover,
    template_node_annotation,
    template_node_name,
    template_scheduling_gates,
    tolerates_everything,
    toleration_duplicate,
    toleration_seconds_loop,
    too_large_to_check,
    two_pods_on_node,
    unpaired_node_annotation,
    unschedulable_affinity,
    utilization_without_request,
    variable_missing,
    variable_not_expanded,
    vertical_autoscaler_too_few_replicas,
    volume_elsewhere,
    volume_mode_mismatch,
    webhook_down,
}

/// Returns the traps: settings that the API server accepts, but that do not work, or not as intended.
pub fn traps() -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().copied().filter(|rule| rule.phase().is_some())
}

/// Returns the rules that compare several objects.
pub fn cross_object() -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().copied().filter(|rule| rule.evidence().is_some())
}

/// Returns the rules about the status of objects in a running cluster.
pub fn about_status() -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().copied().filter(|rule| rule.status().is_some())
}

/// Returns the rules that the API server can apply itself, with their expressions.
pub fn in_cel() -> impl Iterator<Item = (&'static Rule, &'static Cel)> + Clone {
    RULES.iter().copied().filter_map(|rule| Some((rule, rule.cel?())))
}
