use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "container-not-created", group: NeverStarts;
    title: "the container runtime refuses this",
    summary: "a capability, a mount or a working directory that the runtime refuses",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// The capabilities of Linux. Linux: include/uapi/linux/capability.h.
const CAPABILITIES: &str = "AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE \
    DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN \
    NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT \
    SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM ALL";

fn check(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    if spec.os.as_ref().is_some_and(|it| it.name == "windows") {
        return;
    }
    let capabilities = container.security_context.as_ref().and_then(|it| it.capabilities.as_ref());
    let at = path.below("securityContext.capabilities");
    let (added, dropped) =
        capabilities.map(|it| (list(&it.add), list(&it.drop))).unwrap_or_default();
    for (field, names) in [("add", added), ("drop", dropped)] {
        for (i, name) in names.iter().enumerate() {
            let Some(why) = unknown(name) else { continue };
            let outcome = match field {
                "add" => "without it, or not at all",
                _ => "and keeps it, or does not start at all",
            };
            let message = format!("{why}, so the container starts {outcome}");
            let known = CAPABILITIES.split_whitespace();
            let help = match nearest_of(bare(name), known) {
                Some(nearest) => format!("write {nearest}"),
                None => String::from("write the name as in capabilities(7), without CAP_"),
            };
            found.report(&at.item(field, i), Reason::NotSupported, message, help);
        }
    }
    for (i, name) in added.iter().enumerate() {
        if dropped.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            let message = format!(
                "the container drops {name} too, and containerd drops last, so it starts without {name}"
            );
            let path = at.item("add", i);
            found.report(&path, Reason::Forbidden, message, "remove it from one of the two lists");
        }
    }
    for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
        let is_whole = text(&mount.sub_path).is_empty() && mount.sub_path_expr.is_none();
        let fault = match mount.mount_path.trim_end_matches('/') {
            "" if !mount.mount_path.is_empty() => Some((
                "a volume cannot replace the root directory of the container, so it never starts",
                "mount it in a directory, such as /host",
            )),
            "/etc" if is_whole && is_read_only(spec, mount) => Some((
                "the runtime cannot put /etc/hosts into this volume, so the container never starts",
                "mount it in a directory of its own, or each key with subPath",
            )),
            _ if has_unknown_medium(spec, mount) => Some((
                "the kubelet does not know the medium of this emptyDir, so the container never starts",
                "write medium: Memory, or leave it out",
            )),
            _ => None,
        };
        if let Some((message, help)) = fault {
            let path = path.item("volumeMounts", i);
            found.report(&path.child("mountPath"), Reason::Invalid, message, help);
        }
    }
    // The kubelet replaces `$(NAME)` only in commands and variables.
    let directory = text(&container.working_dir);
    if !directory.is_empty() && !directory.starts_with('/') {
        let message =
            "the runtime accepts only an absolute path here, so the container never starts";
        let help = format!("write /{directory}");
        found.report(&path.child("workingDir"), Reason::Invalid, message, help);
    }
}

/// Returns whether only the kubelet can write to a volume.
fn is_read_only(spec: &PodSpec, mount: &VolumeMount) -> bool {
    let mut all = list(&spec.volumes).iter().filter(|it| it.name == mount.name);
    all.any(|it| {
        it.config_map.is_some()
            || it.secret.is_some()
            || it.projected.is_some()
            || it.downward_api.is_some()
    })
}

/// Kubernetes: `SetUpAt`, pkg/volume/emptydir/empty_dir.go.
fn has_unknown_medium(spec: &PodSpec, mount: &VolumeMount) -> bool {
    let all = list(&spec.volumes).iter().filter(|it| it.name == mount.name);
    let mut media = all.filter_map(|it| it.empty_dir.as_ref()?.medium.as_deref());
    media.any(|it| !it.is_empty() && it != "Memory" && !it.starts_with("HugePages"))
}

/// Containerd adds the prefix to each name. Containerd: `WithCapabilities`, internal/cri/opts/spec_linux_opts.go.
fn unknown(name: &str) -> Option<String> {
    let is_known =
        |name: &str| CAPABILITIES.split_whitespace().any(|it| it.eq_ignore_ascii_case(name));
    if is_known(name) {
        None
    } else if is_known(bare(name)) {
        Some(format!("containerd adds the prefix CAP_ itself and looks for CAP_{name}"))
    } else {
        Some(format!("{name:?} is not a capability of Linux"))
    }
}

fn bare(name: &str) -> &str {
    match name.get(..4) {
        Some(prefix) if prefix.eq_ignore_ascii_case("CAP_") => name.get(4..).unwrap_or_default(),
        _ => name,
    }
}
