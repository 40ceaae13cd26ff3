use k8s_openapi::api::core::v1::{SecurityContext, Volume};

use crate::inventory::prelude::*;

/// Folders of a node that exist only on Linux.
const FOLDERS: [&str; 4] = ["/dev", "/lib/modules", "/proc", "/sys"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Linux,
    Windows,
}

impl System {
    /// Returns the system that a template needs, if its fields show it. The image does not show it.
    ///
    /// Kubernetes: `validateWindows` and `validateLinux`, pkg/apis/core/validation/validation.go, list the fields that
    /// apply to only one system.
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
        let is_linux = pod.host_pid == Some(true)
            || pod.host_ipc == Some(true)
            || each().any(needs_linux)
            || pod.volumes.iter().flatten().any(is_of_linux);
        is_linux.then_some(System::Linux)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            System::Linux => "Linux",
            System::Windows => "Windows",
        }
    }

    /// The value of the node label `kubernetes.io/os`.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            System::Linux => "linux",
            System::Windows => "windows",
        }
    }
}

/// Returns whether a container needs privileges that exist only on Linux. Settings that harden a container, such as
/// `runAsUser`, are used in images for both systems, and Windows ignores them.
fn needs_linux(context: &SecurityContext) -> bool {
    let added = context.capabilities.as_ref().and_then(|it| it.add.as_ref());
    context.privileged == Some(true) || added.is_some_and(|it| !it.is_empty())
}

fn is_of_linux(volume: &Volume) -> bool {
    let path = volume.host_path.as_ref().map(|host| host.path.as_str());
    path.is_some_and(|path| {
        FOLDERS.iter().any(|folder| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    })
}
