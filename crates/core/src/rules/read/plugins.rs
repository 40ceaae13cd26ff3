use crate::rules::prelude::*;

/// Contains a folder for each storage plugin.
const STORAGE: &str = "/kubelet/plugins";

/// The node's folders and files for plugins, and the plugins' purpose. The kubelet's are below its root directory.
/// Programs like kube-proxy take the lock of iptables, and a mesh without sidecars sends the traffic of pods through
/// ztunnel.
const FOLDERS: [(&str, &str); 7] = [
    ("/etc/cni", "the network"),
    ("/opt/cni", "the network"),
    ("/run/xtables.lock", "the network"),
    ("/run/ztunnel", "the network"),
    (STORAGE, "storage"),
    ("/kubelet/plugins_registry", "storage"),
    ("/kubelet/device-plugins", "devices"),
];

/// The first plugin folder that the pod can write to, and the plugins' purpose. A network monitor reads its
/// configuration and installs nothing.
pub(crate) fn plugin_folder(pod: &PodSpec) -> Option<(&str, &'static str)> {
    let is_written = |volume: &&Volume| {
        let mounts = containers(pod).flat_map(|container| container.volume_mounts.iter().flatten());
        mounts.filter(|it| it.name == volume.name).any(|it| it.read_only != Some(true))
    };
    let volumes = pod.volumes.iter().flatten().filter(is_written);
    let paths = volumes.filter_map(|volume| volume.host_path.as_ref());
    paths.map(|host| host.path.as_str()).find_map(|path| {
        let is_in = |folder: &&(&str, _)| {
            let rest = match folder.0 {
                at if at.starts_with("/kubelet") => path.split_once(at).map(|it| it.1),
                at if at.starts_with("/run") => {
                    path.strip_prefix("/var").unwrap_or(path).strip_prefix(at)
                }
                at => path.strip_prefix(at),
            };
            rest.is_some_and(|rest| {
                // A program that reads the volumes of all plugins, such as a backup, isn't a plugin itself.
                let is_all = rest.trim_end_matches('/').is_empty() && folder.0 == STORAGE;
                !is_all && (rest.is_empty() || rest.starts_with('/'))
            })
        };
        FOLDERS.iter().find(is_in).map(|(_, purpose)| (path, *purpose))
    })
}
