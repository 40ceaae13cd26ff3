use crate::validation::prelude::*;

/// `validateOS`, and the checks that depend on the name.
pub(crate) fn validate(spec: &PodSpec, path: &At<'_>) {
    let Some(os) = &spec.os else { return };
    match os.name.as_str() {
        "" => path.child("os").child("name").required(""),
        "linux" => linux(spec, path),
        "windows" => windows(spec, path),
        other => path.child("os").not_supported(named(other), &["linux", "windows"]),
    }
}

/// Follows `validateLinux`.
fn linux(spec: &PodSpec, path: &At<'_>) {
    const WHY: &str = "windows options cannot be set for a linux pod";
    if spec.security_context.as_ref().is_some_and(|c| c.windows_options.is_some()) {
        path.below("securityContext.windowsOptions").forbidden(WHY);
    }
    visit(spec, path, &mut |container, path| {
        if container.security_context.as_ref().is_some_and(|c| c.windows_options.is_some()) {
            path.child("securityContext").child("windowsOptions").forbidden(WHY);
        }
    });
}

/// Follows `validateWindows`.
fn windows(spec: &PodSpec, path: &At<'_>) {
    const WHY: &str = "cannot be set for a windows pod";
    let pod = [
        ("hostUsers", spec.host_users.is_some()),
        ("hostPID", spec.host_pid == Some(true)),
        ("hostIPC", spec.host_ipc == Some(true)),
        ("shareProcessNamespace", spec.share_process_namespace.is_some()),
    ];
    path.forbid(&pod, WHY);
    if let Some(context) = &spec.security_context {
        let fields = [
            ("appArmorProfile", context.app_armor_profile.is_some()),
            ("seLinuxOptions", context.se_linux_options.is_some()),
            ("seccompProfile", context.seccomp_profile.is_some()),
            ("fsGroup", context.fs_group.is_some()),
            ("fsGroupChangePolicy", context.fs_group_change_policy.is_some()),
            ("sysctls", !list(&context.sysctls).is_empty()),
            ("runAsUser", context.run_as_user.is_some()),
            ("runAsGroup", context.run_as_group.is_some()),
            ("supplementalGroups", context.supplemental_groups.is_some()),
            ("supplementalGroupsPolicy", context.supplemental_groups_policy.is_some()),
            ("seLinuxChangePolicy", context.se_linux_change_policy.is_some()),
        ];
        path.child("securityContext").forbid(&fields, WHY);
    }
    visit(spec, path, &mut |container, path| {
        let Some(context) = &container.security_context else { return };
        let fields = [
            ("appArmorProfile", context.app_armor_profile.is_some()),
            ("seLinuxOptions", context.se_linux_options.is_some()),
            ("seccompProfile", context.seccomp_profile.is_some()),
            ("capabilities", context.capabilities.is_some()),
            ("readOnlyRootFilesystem", context.read_only_root_filesystem.is_some()),
            ("privileged", context.privileged.is_some()),
            ("allowPrivilegeEscalation", context.allow_privilege_escalation.is_some()),
            ("procMount", context.proc_mount.is_some()),
            ("runAsUser", context.run_as_user.is_some()),
            ("runAsGroup", context.run_as_group.is_some()),
        ];
        path.child("securityContext").forbid(&fields, WHY);
    });
}
