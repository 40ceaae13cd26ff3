use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{
    AppArmorProfile, Capabilities, Container, ContainerPort, LifecycleHandler, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, SELinuxOptions, SeccompProfile, SecurityContext, Volume,
};

use super::{
    EnforcedLevel::{self as Level, Baseline, Restricted},
    standard::Check,
};
use crate::kubernetes::containers::containers;

const EVER: u32 = u32::MAX;

type Refuses = fn(&PodTemplateSpec) -> Vec<String>;

const fn check(level: Level, from: u32, to: u32, reason: &'static str, refuses: Refuses) -> Check {
    Check { level, minors: (from, to), replaced: EVER, reason, refuses }
}

const fn replaced(since: u32, check: Check) -> Check {
    Check { replaced: since, ..check }
}

/// Kubernetes: the files `check_*.go` of policy/.
pub(super) static CHECKS: &[Check] = &[
    check(Baseline, 0, EVER, "forbidden AppArmor profile", app_armor),
    replaced(22, check(Baseline, 0, EVER, "non-default capabilities", added_capabilities)),
    check(Baseline, 0, EVER, "host namespaces", host_namespaces),
    replaced(0, check(Baseline, 0, EVER, "hostPath volumes", host_path)),
    check(Baseline, 0, EVER, "hostPort", host_ports),
    check(Baseline, 34, EVER, "probe or lifecycle host", hosts_of_probes),
    check(Baseline, 0, EVER, "privileged", privileged),
    check(Baseline, 0, 35, "procMount", proc_mount),
    replaced(35, check(Baseline, 35, EVER, "procMount", |pod| unless_own_users(pod, proc_mount))),
    check(Baseline, 0, 31, "seLinuxOptions", |pod| se_linux(pod, &SE_LINUX_TYPES)),
    check(Baseline, 31, EVER, "seLinuxOptions", |pod| se_linux(pod, &SE_LINUX_TYPES_31)),
    check(Baseline, 0, 19, "seccompProfile", seccomp_annotations),
    replaced(19, check(Baseline, 19, EVER, "seccompProfile", seccomp)),
    check(Baseline, 0, 27, "forbidden sysctls", |pod| sysctls(pod, 5)),
    check(Baseline, 27, 29, "forbidden sysctls", |pod| sysctls(pod, 6)),
    check(Baseline, 29, 32, "forbidden sysctls", |pod| sysctls(pod, 10)),
    check(Baseline, 32, EVER, "forbidden sysctls", |pod| sysctls(pod, 12)),
    check(Baseline, 0, EVER, "hostProcess", host_process),
    check(Restricted, 8, 25, "allowPrivilegeEscalation != false", escalation),
    check(Restricted, 25, EVER, "allowPrivilegeEscalation != false", |pod| {
        unless_windows(pod, escalation)
    }),
    check(Restricted, 22, 25, "unrestricted capabilities", kept_capabilities),
    check(Restricted, 25, EVER, "unrestricted capabilities", |pod| {
        unless_windows(pod, kept_capabilities)
    }),
    check(Restricted, 35, EVER, "procMount", proc_mount),
    check(Restricted, 0, EVER, "restricted volume types", volume_types),
    check(Restricted, 0, 35, "runAsNonRoot != true", root_allowed),
    check(Restricted, 35, EVER, "runAsNonRoot != true", |pod| unless_own_users(pod, root_allowed)),
    check(Restricted, 23, 35, "runAsUser=0", root),
    check(Restricted, 35, EVER, "runAsUser=0", |pod| unless_own_users(pod, root)),
    check(Restricted, 19, 25, "seccompProfile", no_seccomp),
    check(Restricted, 25, EVER, "seccompProfile", |pod| unless_windows(pod, no_seccomp)),
];

fn spec(pod: &PodTemplateSpec) -> Option<&PodSpec> {
    pod.spec.as_ref()
}

fn of_pod(pod: &PodTemplateSpec) -> Option<&PodSecurityContext> {
    spec(pod)?.security_context.as_ref()
}

fn names(pod: &PodTemplateSpec, is_refused: impl Fn(&Container) -> bool) -> Vec<String> {
    let all = spec(pod).into_iter().flat_map(containers);
    all.filter(|container| is_refused(container)).map(|it| it.name.clone()).collect()
}

/// A missing context has no fields set.
fn by_context(pod: &PodTemplateSpec, is_refused: impl Fn(&SecurityContext) -> bool) -> Vec<String> {
    let none = SecurityContext::default();
    names(pod, |container| is_refused(container.security_context.as_ref().unwrap_or(&none)))
}

fn with_pod(mut names: Vec<String>, pod_is_refused: bool) -> Vec<String> {
    names.extend(pod_is_refused.then(|| "pod".to_owned()));
    names
}

fn unless_windows(pod: &PodTemplateSpec, refuses: Refuses) -> Vec<String> {
    let os = spec(pod).and_then(|spec| spec.os.as_ref());
    if os.is_some_and(|os| os.name == "windows") { Vec::new() } else { refuses(pod) }
}

/// A pod in its own user namespace passes. Kubernetes: `relaxPolicyForUserNamespacePod`, policy/helpers.go.
fn unless_own_users(pod: &PodTemplateSpec, refuses: Refuses) -> Vec<String> {
    let host_users = spec(pod).and_then(|spec| spec.host_users);
    if host_users == Some(false) { Vec::new() } else { refuses(pod) }
}

fn annotations(
    pod: &PodTemplateSpec,
    is_refused: impl Fn(&str, &str) -> bool,
) -> impl Iterator<Item = String> {
    let all = pod.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let all = all.into_iter().flatten();
    all.filter(move |(key, value)| is_refused(key, value)).map(|(key, _)| key.clone())
}

fn app_armor(pod: &PodTemplateSpec) -> Vec<String> {
    let is_refused = |profile: &Option<AppArmorProfile>| {
        profile.as_ref().is_some_and(|profile| is_type_refused(&profile.type_))
    };
    let in_pod = of_pod(pod).is_some_and(|context| is_refused(&context.app_armor_profile));
    let mut all =
        with_pod(by_context(pod, |context| is_refused(&context.app_armor_profile)), in_pod);
    all.extend(annotations(pod, |key, value| {
        key.starts_with("container.apparmor.security.beta.kubernetes.io/")
            && !(value.is_empty() || value == "runtime/default" || value.starts_with("localhost/"))
    }));
    all
}

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
];

fn added_capabilities(pod: &PodTemplateSpec) -> Vec<String> {
    let is_default = |name: &String| DEFAULT_CAPABILITIES.contains(&name.as_str());
    let all = spec(pod).into_iter().flat_map(containers);
    let capabilities = all.filter_map(|it| it.security_context.as_ref()?.capabilities.as_ref());
    let added = capabilities.flat_map(|capabilities| capabilities.add.iter().flatten());
    added.filter(|name| !is_default(name)).cloned().collect()
}

fn kept_capabilities(pod: &PodTemplateSpec) -> Vec<String> {
    let is_restricted = |capabilities: &Capabilities| {
        capabilities.drop.iter().flatten().any(|name| name == "ALL")
            && capabilities.add.iter().flatten().all(|name| name == "NET_BIND_SERVICE")
    };
    by_context(pod, |context| !context.capabilities.as_ref().is_some_and(is_restricted))
}

fn host_namespaces(pod: &PodTemplateSpec) -> Vec<String> {
    let Some(pod) = spec(pod) else { return Vec::new() };
    let namespaces =
        [("hostNetwork", pod.host_network), ("hostPID", pod.host_pid), ("hostIPC", pod.host_ipc)];
    let shared = namespaces.into_iter().filter(|(_, shared)| *shared == Some(true));
    shared.map(|(name, _)| name.to_owned()).collect()
}

fn host_path(pod: &PodTemplateSpec) -> Vec<String> {
    volumes(pod, |volume| volume.host_path.is_some())
}

/// With `hostNetwork` the pod, unlike the template, gets a `hostPort` for each port. Kubernetes:
/// `defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.
fn host_ports(pod: &PodTemplateSpec) -> Vec<String> {
    let host_network = spec(pod).is_some_and(|pod| pod.host_network == Some(true));
    let number = |port: &ContainerPort| match port.host_port {
        Some(number) if number != 0 => Some(number),
        _ if host_network => Some(port.container_port).filter(|number| *number != 0),
        _ => None,
    };
    let all = spec(pod).into_iter().flat_map(containers);
    let ports = all.flat_map(|container| container.ports.iter().flatten());
    ports.filter_map(number).map(|number| number.to_string()).collect()
}

fn hosts_of_probes(pod: &PodTemplateSpec) -> Vec<String> {
    let says = |host: Option<&String>| host.is_some_and(|host| !host.is_empty());
    let in_probe = |probe: &Option<Probe>| {
        let probe = probe.as_ref();
        says(probe.and_then(|it| it.http_get.as_ref()?.host.as_ref()))
            || says(probe.and_then(|it| it.tcp_socket.as_ref()?.host.as_ref()))
    };
    let in_handler = |handler: &Option<LifecycleHandler>| {
        let handler = handler.as_ref();
        says(handler.and_then(|it| it.http_get.as_ref()?.host.as_ref()))
            || says(handler.and_then(|it| it.tcp_socket.as_ref()?.host.as_ref()))
    };
    names(pod, |it| {
        in_probe(&it.liveness_probe)
            || in_probe(&it.readiness_probe)
            || in_probe(&it.startup_probe)
            || it.lifecycle.as_ref().is_some_and(|lifecycle| {
                in_handler(&lifecycle.post_start) || in_handler(&lifecycle.pre_stop)
            })
    })
}

fn privileged(pod: &PodTemplateSpec) -> Vec<String> {
    by_context(pod, |context| context.privileged == Some(true))
}

fn proc_mount(pod: &PodTemplateSpec) -> Vec<String> {
    by_context(pod, |context| context.proc_mount.as_deref().is_some_and(|it| it != "Default"))
}

const SE_LINUX_TYPES: [&str; 4] = ["", "container_t", "container_init_t", "container_kvm_t"];
const SE_LINUX_TYPES_31: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

fn se_linux(pod: &PodTemplateSpec, types: &[&str]) -> Vec<String> {
    let is_refused = |options: &Option<SELinuxOptions>| {
        options.as_ref().is_some_and(|options| {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            !types.contains(&text(&options.type_).as_str())
                || !text(&options.user).is_empty()
                || !text(&options.role).is_empty()
        })
    };
    let in_pod = of_pod(pod).is_some_and(|context| is_refused(&context.se_linux_options));
    with_pod(by_context(pod, |context| is_refused(&context.se_linux_options)), in_pod)
}

fn seccomp_annotations(pod: &PodTemplateSpec) -> Vec<String> {
    let prefix = "container.seccomp.security.alpha.kubernetes.io/";
    let names: BTreeSet<&str> =
        spec(pod).into_iter().flat_map(containers).map(|container| &*container.name).collect();
    let is_container = |name: &str| names.contains(name);
    let is_read = |key: &str| {
        key == "seccomp.security.alpha.kubernetes.io/pod"
            || key.strip_prefix(prefix).is_some_and(is_container)
    };
    let is_allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    annotations(pod, |key, value| is_read(key) && !is_allowed(value)).collect()
}

fn is_type_refused(type_: &str) -> bool {
    !matches!(type_, "RuntimeDefault" | "Localhost")
}

fn is_seccomp_refused(profile: &Option<SeccompProfile>) -> bool {
    profile.as_ref().is_some_and(|profile| is_type_refused(&profile.type_))
}

fn seccomp(pod: &PodTemplateSpec) -> Vec<String> {
    let in_pod = of_pod(pod).is_some_and(|context| is_seccomp_refused(&context.seccomp_profile));
    with_pod(by_context(pod, |context| is_seccomp_refused(&context.seccomp_profile)), in_pod)
}

fn no_seccomp(pod: &PodTemplateSpec) -> Vec<String> {
    let of_pod = of_pod(pod).map(|context| &context.seccomp_profile);
    let pod_refused = of_pod.is_some_and(is_seccomp_refused);
    let pod_set = !pod_refused && of_pod.is_some_and(Option::is_some);
    let refused = by_context(pod, |context| match &context.seccomp_profile {
        None => !pod_set,
        profile => is_seccomp_refused(profile),
    });
    with_pod(refused, pod_refused)
}

/// The sysctls that are safe in any pod, in the order that Kubernetes added them.
pub(crate) const SAFE_SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

fn sysctls(pod: &PodTemplateSpec, allowed: usize) -> Vec<String> {
    let set = of_pod(pod).into_iter().flat_map(|context| context.sysctls.iter().flatten());
    let is_allowed = |name: &str| SAFE_SYSCTLS.iter().take(allowed).any(|known| *known == name);
    set.filter(|sysctl| !is_allowed(&sysctl.name)).map(|sysctl| sysctl.name.clone()).collect()
}

fn host_process(pod: &PodTemplateSpec) -> Vec<String> {
    let in_pod = of_pod(pod).and_then(|context| context.windows_options.as_ref()?.host_process);
    let refused = by_context(pod, |context| {
        context.windows_options.as_ref().and_then(|it| it.host_process) == Some(true)
    });
    with_pod(refused, in_pod == Some(true))
}

fn escalation(pod: &PodTemplateSpec) -> Vec<String> {
    by_context(pod, |context| context.allow_privilege_escalation != Some(false))
}

fn volumes(pod: &PodTemplateSpec, is_refused: impl Fn(&Volume) -> bool) -> Vec<String> {
    let all = spec(pod).into_iter().flat_map(|pod| pod.volumes.iter().flatten());
    all.filter(|volume| is_refused(volume)).map(|volume| volume.name.clone()).collect()
}

fn volume_types(pod: &PodTemplateSpec) -> Vec<String> {
    let is_allowed = |it: &Volume| {
        it.config_map.is_some()
            || it.csi.is_some()
            || it.downward_api.is_some()
            || it.empty_dir.is_some()
            || it.ephemeral.is_some()
            || it.image.is_some()
            || it.persistent_volume_claim.is_some()
            || it.projected.is_some()
            || it.secret.is_some()
    };
    volumes(pod, |volume| !is_allowed(volume))
}

fn root_allowed(pod: &PodTemplateSpec) -> Vec<String> {
    let of_pod = of_pod(pod).and_then(|context| context.run_as_non_root);
    let refused = by_context(pod, |context| match context.run_as_non_root {
        Some(non_root) => !non_root,
        None => of_pod != Some(true),
    });
    with_pod(refused, of_pod == Some(false))
}

fn root(pod: &PodTemplateSpec) -> Vec<String> {
    let of_pod = of_pod(pod).and_then(|context| context.run_as_user);
    with_pod(by_context(pod, |context| context.run_as_user == Some(0)), of_pod == Some(0))
}
