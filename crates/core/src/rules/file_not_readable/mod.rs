use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, KeyToPath};

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "file-not-readable", group: NeverStarts;
    title: "the user cannot read these files",
    summary: "files of a volume, or logs of containers, that only root may read",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `SetVolumeOwnership`, pkg/volume/volume_linux.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let of_pod = spec.security_context.as_ref();
    let has_fs_group = of_pod.is_some_and(|it| it.fs_group.is_some());
    let is_in_group = of_pod.is_some_and(|it| list(&it.supplemental_groups).contains(&0));
    let volumes = read::volumes(spec);
    visit(spec, &POD_SPEC, &mut |container, path| {
        let own = container.security_context.as_ref();
        let group = own.and_then(|it| it.run_as_group).or_else(|| of_pod?.run_as_group);
        let user = read::user(container, spec).filter(|it| *it != 0);
        let Some(user) = user.filter(|_| !read::is_privileged(container)) else { return };
        for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
            let volume = volumes.get(&*mount.name);
            let is_log = volume.is_some_and(|it| is_log(it)) && reads_logs(container);
            let modes = match volume {
                _ if is_log => vec![LOG],
                Some(volume) if !has_fs_group => modes(volume),
                _ => continue,
            };
            let allows = |bit: i32| modes.iter().any(|mode| mode & bit != 0);
            let is_root_group = is_in_group || group == Some(0);
            let (Some(mode), false) = (modes.first(), allows(0o004)) else { continue };
            if allows(0o040) && is_root_group {
                continue;
            }
            let may_be_root_group = allows(0o040) && group.is_none();
            let unless =
                if may_be_root_group { ", unless its group in the image is root" } else { "" };
            let message = format!(
                "user {user} cannot read the files at {}{unless}: they belong to root, and their mode is {mode:04o}",
                mount.mount_path
            );
            let help = match is_log {
                true => "set runAsGroup: 0, or run the container as root",
                false => "set fsGroup for the pod: the kubelet then gives the files to that group",
            };
            let path = path.item("volumeMounts", i);
            found.report(&path, Reason::Forbidden, message, help).noted_if(may_be_root_group);
        }
    });
}

/// Containerd writes logs with this mode. Containerd: `createContainerLoggers`, internal/cri/server/container_start.go.
const LOG: i32 = 0o640;

fn is_log(volume: &Volume) -> bool {
    let path = volume.host_path.as_ref().map(|it| it.path.trim_end_matches('/'));
    matches!(path, Some("/var/log" | "/var/log/containers" | "/var/log/pods"))
}

fn reads_logs(container: &Container) -> bool {
    const AGENTS: [&str; 8] = [
        "alloy", "filebeat", "fluent-bit", "fluentd", "opentelemetry-collector",
        "opentelemetry-collector-contrib", "promtail", "vector",
    ];
    let (image, _) = read::image(container);
    let is_agent = AGENTS.contains(&image.rsplit('/').next().unwrap_or_default());
    let adds = |name: &str| read::capability(container, name).0;
    is_agent && !adds("DAC_READ_SEARCH") && !adds("DAC_OVERRIDE")
}

/// The modes of the files in a volume that the kubelet writes; empty if they are not known.
fn modes(volume: &Volume) -> Vec<i32> {
    let of = |own: &[Option<i32>], default: Option<i32>| {
        let default = default.unwrap_or(0o644);
        let own = own.iter().map(|it| it.unwrap_or(default)).collect::<Vec<_>>();
        if own.is_empty() { vec![default] } else { own }
    };
    let of_keys = |items: &Option<Vec<KeyToPath>>| -> Vec<_> {
        list(items).iter().map(|it| it.mode).collect()
    };
    let of_fields = |items: &Option<Vec<DownwardAPIVolumeFile>>| -> Vec<_> {
        list(items).iter().map(|it| it.mode).collect()
    };
    if let Some(it) = &volume.secret {
        of(&of_keys(&it.items), it.default_mode)
    } else if let Some(it) = &volume.config_map {
        of(&of_keys(&it.items), it.default_mode)
    } else if let Some(it) = &volume.downward_api {
        of(&of_fields(&it.items), it.default_mode)
    } else if let Some(it) = &volume.projected {
        let own = list(&it.sources).iter().map(|source| {
            let items = source.secret.as_ref().map(|it| of_keys(&it.items));
            let items = items.or_else(|| Some(of_keys(&source.config_map.as_ref()?.items)));
            items.or_else(|| Some(of_fields(&source.downward_api.as_ref()?.items)))
        });
        // The kubelet gives a token to the user of the pod.
        let own: Option<Vec<_>> = own.collect();
        own.unwrap_or_default().iter().flat_map(|own| of(own, it.default_mode)).collect()
    } else {
        Vec::new()
    }
}
