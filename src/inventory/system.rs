//! The operating system that the pods of a template need.

use k8s_openapi::api::core::v1::{PodSpec, SecurityContext};

use crate::kubernetes::containers::containers;

/// An operating system of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Linux,
    Windows,
}

impl System {
    /// Returns the system that a template needs, if its fields show it. The image does not.
    ///
    /// Kubernetes: `validateWindows` and `validateLinux`, pkg/apis/core/validation/validation.go, list
    /// the fields that have a meaning on one system only.
    pub(super) fn of(pod: &PodSpec) -> Option<Self> {
        match pod.os.as_ref().map(|os| os.name.as_str()) {
            Some("linux") => return Some(System::Linux),
            Some("windows") => return Some(System::Windows),
            _ => {}
        }
        let whole = pod.security_context.as_ref();
        let each = || containers(pod).filter_map(|it| it.security_context.as_ref());
        if whole.is_some_and(|it| it.windows_options.is_some())
            || each().any(|it| it.windows_options.is_some())
        {
            return Some(System::Windows);
        }
        let shares = pod.host_pid == Some(true) || pod.host_ipc == Some(true);
        let is_linux = shares
            || whole.is_some_and(|it| it.run_as_user.is_some() || it.fs_group.is_some())
            || each().any(needs_linux);
        is_linux.then_some(System::Linux)
    }

    /// Returns the name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            System::Linux => "Linux",
            System::Windows => "Windows",
        }
    }

    /// Returns the value of the label `kubernetes.io/os` of its nodes.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            System::Linux => "linux",
            System::Windows => "windows",
        }
    }
}

fn needs_linux(context: &SecurityContext) -> bool {
    context.privileged == Some(true)
        || context.capabilities.is_some()
        || context.run_as_user.is_some()
        || context.allow_privilege_escalation.is_some()
        || context.se_linux_options.is_some()
        || context.seccomp_profile.is_some()
}
