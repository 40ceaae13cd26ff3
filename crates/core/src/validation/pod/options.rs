//! The options of validation, which depend on feature gates and the old spec.

/// The options of validation. Invalid values that are already stored stay allowed. Kubernetes:
/// `PodValidationOptions` and `GetValidationOptionsFromPodSpecAndMeta` in `pkg/api/pod/util.go`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) invalid_label_value_in_selector: bool,
    pub(crate) invalid_label_value_in_node_affinity: bool,
    pub(crate) indivisible_huge_pages: bool,
    pub(crate) invalid_spread_selector: bool,
    pub(crate) non_local_token_path: bool,
    pub(crate) namespaced_sysctls_on_host: bool,
    pub(crate) relaxed_env_names: bool,
    pub(crate) relaxed_dns_search: bool,
    pub(crate) sleep_zero: bool,
    pub(crate) only_recursive_selinux_change: bool,
    pub(crate) pod_level_resources: bool,
    pub(crate) sidecar_resize_policy: bool,
    pub(crate) spread_by_merged_selector: bool,
    pub(crate) env_files: bool,
    pub(crate) container_restart_rules: bool,
    pub(crate) restart_all_containers: bool,
    pub(crate) restart_of_init_on_resize: bool,
    pub(crate) host_users_with_volume_devices: bool,
    pub(crate) toleration_comparison: bool,
    pub(crate) host_users_on_host_network: bool,
    pub(crate) strict_ip: bool,
    pub(crate) volume_attributes_class: bool,
    pub(crate) image_reference_required: bool,
    pub(crate) empty_csi_driver_is_a_name: bool,
    pub(crate) sys_admin_without_escalation: bool,
    pub(crate) init_rules_without_policy: bool,
    pub(crate) too_many_restart_rules: bool,
    pub(crate) toleration_operators: bool,
    pub(crate) share_process_namespace_path: bool,
    pub(crate) trust_bundle_user: bool,
}
