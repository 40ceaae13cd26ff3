use k8s_openapi::api::core::v1::VolumeMount;

use crate::validation::prelude::*;

/// The devices while mounts are validated, and vice versa: `GetVolumeDeviceMap`, `GetVolumeMountMap`. If several share
/// a name, the last one counts.
struct OtherMounts<'a> {
    by_name: HashMap<&'a str, &'a str>,
    paths: HashSet<&'a str>,
}

impl<'a> OtherMounts<'a> {
    fn new(others: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let by_name: HashMap<_, _> = others.collect();
        OtherMounts { paths: by_name.values().copied().collect(), by_name }
    }
}

/// `ValidateVolumeMounts`. Some paths lack the index, as they do upstream.
pub(crate) fn validate(container: &Container, volumes: &Volumes<'_>, path: &At<'_>) {
    let mounts = list(&container.volume_mounts);
    let devices = list(&container.volume_devices);
    let devices =
        OtherMounts::new(devices.iter().map(|d| (d.name.as_str(), d.device_path.as_str())));
    let mut seen = Seen::new();
    for (mount, at) in path.items(mounts) {
        let (name, mount_path) = (mount.name.as_str(), mount.mount_path.as_str());
        if name.is_empty() {
            at.child("name").required("");
        }
        if volumes.find(name).is_none() {
            at.child("name").not_found(name);
        }
        if mount_path.is_empty() {
            at.child("mountPath").required("");
        }
        if !seen.insert(mount_path) {
            at.child("mountPath").invalid(mount_path, "must be unique");
        }
        if devices.by_name.contains_key(name) {
            at.child("name").invalid(name, "must not already exist in volumeDevices");
        }
        if devices.paths.contains(mount_path) {
            let why = "must not already exist as a path in volumeDevices";
            at.child("mountPath").invalid(mount_path, why);
        }
        sub_path(mount, &at, path);
        propagation(mount, container, &path.child("mountPropagation"));
        recursive_read_only(mount, &path.child("recursiveReadOnly"));
        bind_options(mount, volumes, &at.child("bindMountOptions"));
    }
}

fn sub_path(mount: &VolumeMount, at: &At<'_>, path: &At<'_>) {
    let (sub, expr) = (text(&mount.sub_path), text(&mount.sub_path_expr));
    if !sub.is_empty() {
        each(names::local_descending_path(sub), sub, &path.child("subPath"));
    }
    if !expr.is_empty() {
        if !sub.is_empty() {
            at.child("subPathExpr").invalid(expr, "subPathExpr and subPath are mutually exclusive");
        }
        each(names::local_descending_path(expr), expr, &path.child("subPathExpr"));
    }
}

/// Follows `validateMountPropagation`.
fn propagation(mount: &VolumeMount, container: &Container, path: &At<'_>) {
    let Some(mode) = mount.mount_propagation.as_deref() else { return };
    one_of(Some(mode), &["Bidirectional", "HostToContainer", "None"], path);
    let privileged =
        container.security_context.as_ref().is_some_and(|c| c.privileged == Some(true));
    if mode == "Bidirectional" && !privileged {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        path.forbidden(why);
    }
}

/// Follows `validateMountRecursiveReadOnly`.
fn recursive_read_only(mount: &VolumeMount, path: &At<'_>) {
    match mount.recursive_read_only.as_deref() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if mount.read_only != Some(true) {
                path.forbidden("may only be specified when readOnly is true");
            }
            if mount.mount_propagation.as_deref().is_some_and(|mode| mode != "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                path.forbidden(why);
            }
        }
        Some(mode) => path.not_supported(named(mode), &["Disabled", "Enabled", "IfPossible"]),
    }
}

/// Follows `validateBindMountOptions`.
fn bind_options(mount: &VolumeMount, volumes: &Volumes<'_>, path: &At<'_>) {
    let options = list(&mount.bind_mount_options);
    let mut seen = Seen::new();
    for (i, option) in options.iter().enumerate() {
        one_of(Some(option), &["nodev", "noexec", "nosuid"], &path.index(i));
        if !seen.insert(option.as_str()) {
            path.index(i).duplicate(option);
        }
    }
    if !options.is_empty() && volumes.find(&mount.name).is_some_and(|volume| volume.is_image) {
        path.invalid(Value::json(&options), "bindMountOptions may not be used with image volumes");
    }
}

/// Follows `ValidateVolumeDevices`.
pub(crate) fn devices(container: &Container, volumes: &Volumes<'_>, path: &At<'_>) {
    let devices = list(&container.volume_devices);
    if devices.is_empty() {
        return;
    }
    let mounts = list(&container.volume_mounts);
    let mounts = OtherMounts::new(mounts.iter().map(|m| (m.name.as_str(), m.mount_path.as_str())));
    let (mut names_seen, mut paths_seen) = (Seen::new(), Seen::new());
    let goes_back = |path: &str| !names::no_backsteps(path).is_empty();
    for (device, at) in path.items(devices) {
        let (name, device_path) = (device.name.as_str(), device.device_path.as_str());
        let (at_name, at_path) = (at.child("name"), at.child("devicePath"));
        if name.is_empty() {
            at_name.required("");
        } else if !names_seen.insert(name) {
            at_name.invalid(name, "must be unique");
        }
        match volumes.find(name) {
            Some(volume) if !volume.is_claim => {
                let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral \
                           for block mode";
                at_name.invalid(name, why);
            }
            Some(_) => {}
            None => at_name.not_found(name),
        }
        if device_path.is_empty() {
            at_path.required("");
        }
        if paths_seen.contains(device_path) {
            at_path.invalid(device_path, "must be unique");
        }
        if !goes_back(device_path) {
            paths_seen.insert(device_path);
        } else {
            at_path.invalid(device_path, "can not contain backsteps ('..')");
        }
        if mounts.by_name.contains_key(name) {
            at_name.invalid(name, "must not already exist in volumeMounts");
        }
        if mounts.paths.contains(device_path) {
            at_path.invalid(device_path, "must not already exist as a path in volumeMounts");
        }
    }
}
