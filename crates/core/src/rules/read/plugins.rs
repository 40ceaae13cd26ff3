use k8s_openapi::api::core::v1::{PodSpec, Volume};

use crate::kubernetes::containers::containers;

/// Contains a folder for each storage plugin.
const STORAGE: &str = "/var/lib/kubelet/plugins";

/// The node's folders for plugins, and the plugins' purpose.
const FOLDERS: [(&str, &str); 5] = [
    ("/etc/cni", "the network"),
    ("/opt/cni", "the network"),
    (STORAGE, "storage"),
    ("/var/lib/kubelet/plugins_registry", "storage"),
    ("/var/lib/kubelet/device-plugins", "devices"),
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
            let rest = path.strip_prefix(folder.0);
            rest.is_some_and(|rest| {
                // A program that reads the volumes of all plugins, such as a backup, isn't a plugin itself.
                let is_all = rest.trim_end_matches('/').is_empty() && folder.0 == STORAGE;
                !is_all && (rest.is_empty() || rest.starts_with('/'))
            })
        };
        FOLDERS.iter().find(is_in).map(|(_, purpose)| (path, *purpose))
    })
}
