use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "host-path-type-mismatch", group: NeverStarts;
    title: "the node has something else at this path",
    summary: "a hostPath whose type is not what nodes have at its path",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// The lock of iptables. A node has none before something uses iptables.
const LOCK: &str = "/run/xtables.lock";

const DIRECTORIES: [&str; 16] = [
    "/", "/boot", "/dev", "/etc", "/etc/cni/net.d", "/etc/kubernetes", "/home", "/lib/modules",
    "/opt/cni/bin", "/proc", "/root", "/sys", "/usr", "/var/lib/kubelet", "/var/log",
    "/var/log/pods",
];

const FILES: [&str; 6] = [
    "/etc/group", "/etc/hosts", "/etc/machine-id", "/etc/os-release", "/etc/passwd",
    "/etc/resolv.conf",
];

const DEVICES: [&str; 5] = ["/dev/fuse", "/dev/kmsg", "/dev/kvm", "/dev/net/tun", "/dev/vfio/vfio"];

/// Kubernetes: `checkType`, pkg/volume/hostpath/host_path.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    for (i, Volume { name, host_path, .. }) in list(&spec.volumes).iter().enumerate() {
        let Some(host) = host_path else { continue };
        let path = match host.path.strip_prefix("/var/run/") {
            Some(rest) => format!("/run/{rest}"),
            None => host.path.clone(),
        };
        let is_used = |it: &Container| list(&it.volume_mounts).iter().any(|it| it.name == *name);
        if !containers(spec).any(is_used) {
            continue;
        }
        let given = text(&host.type_);
        let volume = VOLUMES.index(i);
        let at = volume.child("hostPath");
        if path == LOCK && matches!(given, "" | "DirectoryOrCreate") {
            let message = "on a node without this file, a directory is created there, and then kube-proxy and iptables fail \
                           on that node";
            found.report(&at, Reason::Invalid, message, "set type: FileOrCreate");
            continue;
        }
        let Some(real) = real(&path).filter(|real| !fits(given, real)) else { continue };
        let message = format!(
            "nodes have a {} at {}, so the kubelet refuses the type {given}, and the pods never start",
            real.1, host.path
        );
        found.report(&at.child("type"), Reason::Invalid, message, format!("set type: {}", real.0));
    }
}

/// Returns the type of what nodes have at a path, and a word for it.
fn real(path: &str) -> Option<(&'static str, &'static str)> {
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() { "/" } else { path };
    // The rule docker-socket is about this one.
    if path.ends_with(".sock") && path != "/run/docker.sock" {
        Some(("Socket", "socket"))
    } else if DIRECTORIES.contains(&path) {
        Some(("Directory", "directory"))
    } else if FILES.contains(&path) {
        Some(("File", "file"))
    } else if DEVICES.contains(&path) {
        Some(("CharDevice", "character device"))
    } else {
        None
    }
}

fn fits(given: &str, (real, _): &(&str, &str)) -> bool {
    given.is_empty() || given.strip_suffix("OrCreate").unwrap_or(given) == *real
}
