use k8s_openapi::api::core::v1::{
    AppArmorProfile, PodSecurityContext, SeccompProfile, SecurityContext,
};
use serde_json::json;

use super::windows;
use crate::validation::prelude::*;

const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const MAX_SYSCTL: usize = 253;
/// The longest path on Linux.
const MAX_PROFILE: usize = 4095;

/// Follows `validatePodSpecSecurityContext`.
pub(crate) fn pod(spec: &PodSpec, opts: &Options, path: &At<'_>) {
    let pod_path = path;
    let path = path.child("securityContext");
    if spec.host_pid == Some(true) && spec.share_process_namespace == Some(true) {
        let at = if opts.share_process_namespace_path { pod_path } else { &path };
        let at = at.child("shareProcessNamespace");
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        at.invalid(Value::Json("true".to_owned()), why);
    }
    let Some(context) = &spec.security_context else { return };
    unix_id(context.fs_group, &path.child("fsGroup"));
    unix_id(context.run_as_user, &path.child("runAsUser"));
    unix_id(context.run_as_group, &path.child("runAsGroup"));
    for (i, group) in list(&context.supplemental_groups).iter().enumerate() {
        unix_id(Some(*group), &path.child("supplementalGroups").index(i));
    }
    sysctls(context, spec, opts, &path.child("sysctls"));
    let policy = context.fs_group_change_policy.as_deref();
    one_of(policy, &["Always", "OnRootMismatch"], &path.child("fsGroupChangePolicy"));
    seccomp(context.seccomp_profile.as_ref(), &path.child("seccompProfile"));
    windows::options(context.windows_options.as_ref(), &path.child("windowsOptions"));
    app_armor(context.app_armor_profile.as_ref(), &path.child("appArmorProfile"));
    let policy = context.supplemental_groups_policy.as_deref();
    one_of(policy, &["Merge", "Strict"], &path.child("supplementalGroupsPolicy"));
    let policies: &[&str] = if opts.only_recursive_selinux_change {
        &["Recursive"]
    } else {
        &["MountOption", "Recursive"]
    };
    let policy = context.se_linux_change_policy.as_deref();
    one_of(policy, policies, &path.child("seLinuxChangePolicy"));
}

/// Follows `validateSysctls`.
fn sysctls(context: &PodSecurityContext, spec: &PodSpec, opts: &Options, path: &At<'_>) {
    let sysctls = list(&context.sysctls);
    let mut seen = Seen::new();
    for (sysctl, path) in path.items(sysctls) {
        let path = path.child("name");
        let name = sysctl.name.as_str();
        let is_new = seen.insert(name);
        if name.is_empty() {
            path.required("");
        } else if !is_sysctl(name) {
            let why = format!(
                "must have at most {MAX_SYSCTL} characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            );
            path.invalid(name, why);
        } else if !is_new {
            path.duplicate(name);
        }
        if !opts.namespaced_sysctls_on_host
            && let Some(why) = on_host(name, spec)
        {
            path.invalid(name, why);
        }
    }
}

/// Follows `IsValidSysctlName`.
fn is_sysctl(name: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let segment = |segment: &str| {
        let bytes = segment.as_bytes();
        bytes.first().copied().is_some_and(inside)
            && bytes.last().copied().is_some_and(inside)
            && bytes.iter().all(|b| inside(*b) || matches!(b, b'-' | b'_'))
    };
    name.len() <= MAX_SYSCTL && name.split(['.', '/']).all(segment)
}

/// `ValidateHostSysctl`: rejects a sysctl in a namespace that the pod shares with its node.
fn on_host(name: &str, spec: &PodSpec) -> Option<&'static str> {
    // If the first separator is a slash, dots and slashes are swapped.
    let swapped = name.find(['.', '/']).is_some_and(|at| name.as_bytes()[at] == b'/');
    let normal: String = name
        .chars()
        .map(|c| match c {
            '.' if swapped => '/',
            '/' if swapped => '.',
            c => c,
        })
        .collect();
    let name = normal.split('*').next().unwrap_or(&normal);
    let of_kernel = name.strip_prefix("kernel.").unwrap_or_default();
    let shared = "sem shmall shmmax shmmni shm_rmid_forced shm msgmax msgmnb msgmni msg";
    let ipc = shared.split(' ').any(|it| it == of_kernel) || name.starts_with("fs.mqueue.");
    if spec.host_network == Some(true) && name.starts_with("net.") {
        Some("may not be specified when 'hostNetwork' is true")
    } else if spec.host_ipc == Some(true) && ipc {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

pub(crate) fn has_host_sysctl(spec: &PodSpec) -> bool {
    let context = spec.security_context.as_ref();
    context.is_some_and(|c| list(&c.sysctls).iter().any(|s| on_host(&s.name, spec).is_some()))
}

/// `ValidateSecurityContext`.
const SYS_ADMIN: &str = "CAP_SYS_ADMIN";

/// If unset, privilege escalation counts as forbidden. Kubernetes: `hasSysAdminAndPrivilegeEscalationFalse`,
/// `pkg/api/pod/util.go`.
pub(crate) fn has_sys_admin_without_escalation(spec: &PodSpec) -> bool {
    let mut contexts = containers(spec).filter_map(|c| c.security_context.as_ref());
    contexts.any(|context| {
        let added = context.capabilities.as_ref().map(|c| list(&c.add)).unwrap_or_default();
        context.allow_privilege_escalation != Some(true) && added.iter().any(|c| c == SYS_ADMIN)
    })
}

pub(crate) fn container(
    context: &SecurityContext,
    host_users: bool,
    opts: &Options,
    path: &At<'_>,
) {
    unix_id(context.run_as_user, &path.child("runAsUser"));
    unix_id(context.run_as_group, &path.child("runAsGroup"));
    if let Some(mount) = context.proc_mount.as_deref() {
        let path = path.child("procMount");
        one_of(Some(mount), &["Default", "Unmasked"], &path);
        if host_users && mount == "Unmasked" {
            path.invalid(named(mount), "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(context.seccomp_profile.as_ref(), &path.child("seccompProfile"));
    if context.allow_privilege_escalation == Some(false) {
        if context.privileged == Some(true) {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            path.invalid(as_go(context), why);
        }
        let added = context.capabilities.as_ref().map(|c| list(&c.add)).unwrap_or_default();
        let is_wrong =
            |capability: &&String| !opts.sys_admin_without_escalation && *capability == SYS_ADMIN;
        for _ in added.iter().filter(is_wrong) {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` \
                       CAP_SYS_ADMIN";
            path.invalid(as_go(context), why);
        }
    }
    windows::options(context.windows_options.as_ref(), &path.child("windowsOptions"));
    app_armor(context.app_armor_profile.as_ref(), &path.child("appArmorProfile"));
}

/// As Go prints its internal type.
fn as_go(context: &SecurityContext) -> Value<'static> {
    Value::json(&json!({
        "Capabilities": context.capabilities.as_ref()
            .map(|c| json!({"Add": c.add, "Drop": c.drop})),
        "Privileged": context.privileged,
        "SELinuxOptions": context.se_linux_options.as_ref().map(|o| json!({
            "User": o.user.as_deref().unwrap_or_default(),
            "Role": o.role.as_deref().unwrap_or_default(),
            "Type": o.type_.as_deref().unwrap_or_default(),
            "Level": o.level.as_deref().unwrap_or_default(),
        })),
        "WindowsOptions": context.windows_options.as_ref().map(|o| json!({
            "GMSACredentialSpecName": o.gmsa_credential_spec_name,
            "GMSACredentialSpec": o.gmsa_credential_spec,
            "RunAsUserName": o.run_as_user_name,
            "HostProcess": o.host_process,
        })),
        "RunAsUser": context.run_as_user,
        "RunAsGroup": context.run_as_group,
        "RunAsNonRoot": context.run_as_non_root,
        "ReadOnlyRootFilesystem": context.read_only_root_filesystem,
        "AllowPrivilegeEscalation": context.allow_privilege_escalation,
        "ProcMount": context.proc_mount,
        "SeccompProfile": context.seccomp_profile.as_ref()
            .map(|p| json!({"Type": p.type_, "LocalhostProfile": p.localhost_profile})),
        "AppArmorProfile": context.app_armor_profile.as_ref()
            .map(|p| json!({"Type": p.type_, "LocalhostProfile": p.localhost_profile})),
    }))
}

/// Follows `validateSeccompProfileField`.
fn seccomp(profile: Option<&SeccompProfile>, path: &At<'_>) {
    let Some(profile) = profile else { return };
    let at = path.child("type");
    if profile.type_.is_empty() {
        at.required("type is required when seccompProfile is set");
    } else {
        one_of(Some(&profile.type_), PROFILE_TYPES, &at);
    }
    let at = path.child("localhostProfile");
    match (profile.type_.as_str(), profile.localhost_profile.as_deref()) {
        ("Localhost", None) => at.required("must be set when seccomp type is Localhost"),
        ("Localhost", Some(local)) => {
            each(names::local_descending_path(local), local, &at);
        }
        (kind, Some(local)) => {
            let value = Value::json(&json!({"Type": kind, "LocalhostProfile": local}));
            at.invalid(value, "can only be set when seccomp type is Localhost");
        }
        (_, None) => {}
    }
}

/// Follows `ValidateAppArmorProfileField`.
fn app_armor(profile: Option<&AppArmorProfile>, path: &At<'_>) {
    const MUST: &str = "must be set when AppArmor type is Localhost";
    let Some(profile) = profile else { return };
    let at = path.child("localhostProfile");
    match (profile.type_.as_str(), profile.localhost_profile.as_deref()) {
        ("Localhost", None) => at.required(MUST),
        ("Localhost", Some(local)) => {
            if local.trim() != local {
                at.invalid(local, "must not be padded with whitespace");
            } else if local.is_empty() {
                at.required(MUST);
            }
            if local.len() > MAX_PROFILE {
                at.too_long(MAX_PROFILE);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(local)) => {
            // The value is a pointer in Go, so it is printed as JSON.
            at.invalid(named(local), "can only be set when AppArmor type is Localhost");
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => path.child("type").required("type is required when appArmorProfile is set"),
        (kind, _) => path.child("type").not_supported(named(kind), PROFILE_TYPES),
    }
}
