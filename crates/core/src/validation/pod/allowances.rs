//! The options of validation, from feature gates and the old spec.

use super::{affinity, projected, security_context, spread};
use crate::object::dropped;
use crate::validation::prelude::*;

impl Options {
    pub(crate) fn of(spec: &PodSpec, old: Option<&PodSpec>, cluster: &Cluster) -> Self {
        let on = |gate| cluster.enabled(gate);
        let old_has = |has: fn(&PodSpec) -> bool| old.is_some_and(has);
        Options {
            invalid_label_value_in_selector: old_has(affinity::has_invalid_selector),
            invalid_label_value_in_node_affinity: old_has(affinity::has_invalid_node_value),
            indivisible_huge_pages: old_has(super::resources::has_indivisible_huge_pages),
            invalid_spread_selector: old_has(spread::has_invalid_selector),
            non_local_token_path: old_has(projected::has_non_local_token_path),
            namespaced_sysctls_on_host: old_has(security_context::has_host_sysctl),
            relaxed_env_names: on("RelaxedEnvironmentVariableValidation")
                || old.is_some_and(|old| keeps_relaxed_env_name(spec, old)),
            relaxed_dns_search: on("RelaxedDNSSearchValidation") || old_has(has_relaxed_search),
            sleep_zero: on("PodLifecycleSleepActionAllowZero") || old_has(sleeps_zero),
            only_recursive_selinux_change: !on("SELinuxMount")
                && !old_has(dropped::selinux_change_policy),
            sidecar_resize_policy: on("InPlacePodVerticalScaling")
                || old_has(|old| {
                    let mut init = list(&old.init_containers).iter();
                    init.any(|c| is_sidecar(c) && !list(&c.resize_policy).is_empty())
                }),
            spread_by_merged_selector: on("MatchLabelKeysInPodTopologySpread")
                && if on("MatchLabelKeysInPodTopologySpreadSelectorMerge") {
                    !old_has(spread::violates_merged)
                } else {
                    old_has(spread::violates_legacy)
                },
            env_files: on("EnvFiles") || old_has(dropped::file_key_ref),
            container_restart_rules: cluster.has(since::CONTAINER_RESTART_RULES)
                && (on("ContainerRestartRules") || old_has(dropped::container_restart_rules)),
            restart_all_containers: on("RestartAllContainersOnContainerExits")
                || old_has(restarts_all),
            restart_of_init_on_resize: !cluster.has(since::INIT_RESIZE_VALIDATED)
                || old_has(restarts_init_on_resize),
            host_users_with_volume_devices: !cluster.has(since::VOLUME_DEVICES_NEED_HOST_USERS)
                || old_has(|old| {
                    old.host_users == Some(false)
                        && containers(old).any(|c| !list(&c.volume_devices).is_empty())
                }),
            toleration_comparison: on("TaintTolerationComparisonOperators")
                || old_has(|old| {
                    let mut tolerations = list(&old.tolerations).iter();
                    tolerations.any(|t| matches!(t.operator.as_deref(), Some("Lt" | "Gt")))
                }),
            host_users_on_host_network: on("UserNamespacesHostNetworkSupport")
                || old_has(|old| old.host_users == Some(false) && old.host_network == Some(true)),
            image_reference_required: cluster.has(since::IMAGE_REFERENCE_REQUIRED)
                && !old_has(|old| {
                    let mut images = list(&old.volumes).iter().filter_map(|v| v.image.as_ref());
                    images.any(|image| text(&image.reference).is_empty())
                }),
            sys_admin_without_escalation: cluster.has(since::SYS_ADMIN_KEPT)
                && old_has(security_context::has_sys_admin_without_escalation),
            ..Options::of_cluster(cluster)
        }
    }

    fn of_cluster(cluster: &Cluster) -> Self {
        Options {
            pod_level_resources: cluster.enabled("PodLevelResources"),
            strict_ip: cluster.enabled("StrictIPCIDRValidation"),
            volume_attributes_class: cluster.enabled("VolumeAttributesClass"),
            empty_csi_driver_is_a_name: !cluster.has(since::EMPTY_CSI_DRIVER_ONCE),
            init_rules_without_policy: !cluster.has(since::INIT_RULES_NEED_POLICY),
            too_many_restart_rules: cluster.has(since::TOO_MANY_RESTART_RULES),
            toleration_operators: cluster.has(since::TOLERATION_COMPARISON),
            share_process_namespace_path: cluster.has(since::SHARE_PROCESS_NAMESPACE_PATH),
            trust_bundle_user: cluster.has(since::TRUST_BUNDLE_USER),
            ..Options::default()
        }
    }
}

fn env_names(spec: &PodSpec) -> impl Iterator<Item = &str> {
    containers(spec).flat_map(|c| {
        let prefixes = list(&c.env_from).iter().filter_map(|e| e.prefix.as_deref());
        list(&c.env).iter().map(|e| e.name.as_str()).chain(prefixes)
    })
}

/// `useRelaxedEnvironmentVariableValidation` with the gate off.
fn keeps_relaxed_env_name(spec: &PodSpec, old: &PodSpec) -> bool {
    env_names(spec).any(|name| {
        !names::env_var_name(name).is_empty()
            && names::relaxed_env_var_name(name).is_empty()
            && env_names(old).any(|old| old == name)
    })
}

fn has_relaxed_search(old: &PodSpec) -> bool {
    let config = old.dns_config.as_ref();
    config.is_some_and(|c| list(&c.searches).iter().any(|s| s == "." || s.contains('_')))
}

fn sleeps_zero(old: &PodSpec) -> bool {
    let hooks = |c: &Container| {
        let hooks = c.lifecycle.as_ref().map(|l| [l.pre_stop.clone(), l.post_start.clone()]);
        hooks.into_iter().flatten().flatten().any(|h| h.sleep.is_some_and(|s| s.seconds == 0))
    };
    containers(old).any(hooks)
}

fn restarts_init_on_resize(old: &PodSpec) -> bool {
    let mut init = list(&old.init_containers).iter().filter(|c| !is_sidecar(c));
    init.any(|c| list(&c.resize_policy).iter().any(|p| p.restart_policy == "RestartContainer"))
}

fn restarts_all(old: &PodSpec) -> bool {
    let init = list(&old.init_containers).iter();
    let sidecar_with_rules =
        init.clone().any(|c| is_sidecar(c) && !list(&c.restart_policy_rules).is_empty());
    let mut rules = containers(old).flat_map(|c| list(&c.restart_policy_rules));
    sidecar_with_rules || rules.any(|rule| rule.action == "RestartAllContainers")
}
