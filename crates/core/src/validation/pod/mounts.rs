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
pub(crate) fn validate(
    container: &Container,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let mounts = list(&container.volume_mounts);
    let devices = list(&container.volume_devices);
    let devices =
        OtherMounts::new(devices.iter().map(|d| (d.name.as_str(), d.device_path.as_str())));
    let mut seen = Seen::new();
    for (i, mount) in mounts.iter().enumerate() {
        let at = path.index(i);
        let (name, mount_path) = (mount.name.as_str(), mount.mount_path.as_str());
        if name.is_empty() {
            found.required(&at.child("name"), "");
        }
        if volumes.find(name).is_none() {
            found.not_found(&at.child("name"), name);
        }
        if mount_path.is_empty() {
            found.required(&at.child("mountPath"), "");
        }
        if !seen.insert(mount_path) {
            found.invalid(&at.child("mountPath"), mount_path, "must be unique");
        }
        if devices.by_name.contains_key(name) {
            let why = "must not already exist in volumeDevices";
            found.invalid(&at.child("name"), name, why);
        }
        if devices.paths.contains(mount_path) {
            let why = "must not already exist as a path in volumeDevices";
            found.invalid(&at.child("mountPath"), mount_path, why);
        }
        sub_path(mount, &at, path, found);
        propagation(mount, container, &path.child("mountPropagation"), found);
        recursive_read_only(mount, &path.child("recursiveReadOnly"), found);
        bind_options(mount, volumes, &at.child("bindMountOptions"), found);
    }
}

fn sub_path(mount: &VolumeMount, at: &Path<'_>, path: &Path<'_>, found: &mut Findings) {
    let (sub, expr) = (text(&mount.sub_path), text(&mount.sub_path_expr));
    if !sub.is_empty() {
        each(names::local_descending_path(sub), sub, &path.child("subPath"), found);
    }
    if !expr.is_empty() {
        if !sub.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            found.invalid(&at.child("subPathExpr"), expr, why);
        }
        each(names::local_descending_path(expr), expr, &path.child("subPathExpr"), found);
    }
}

/// Follows `validateMountPropagation`.
fn propagation(mount: &VolumeMount, container: &Container, path: &Path<'_>, found: &mut Findings) {
    let Some(mode) = mount.mount_propagation.as_deref() else { return };
    one_of(Some(mode), &["Bidirectional", "HostToContainer", "None"], path, found);
    let privileged =
        container.security_context.as_ref().is_some_and(|c| c.privileged == Some(true));
    if mode == "Bidirectional" && !privileged {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        found.forbidden(path, why);
    }
}

/// Follows `validateMountRecursiveReadOnly`.
fn recursive_read_only(mount: &VolumeMount, path: &Path<'_>, found: &mut Findings) {
    match mount.recursive_read_only.as_deref() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if mount.read_only != Some(true) {
                found.forbidden(path, "may only be specified when readOnly is true");
            }
            if mount.mount_propagation.as_deref().is_some_and(|mode| mode != "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                found.forbidden(path, why);
            }
        }
        Some(mode) => {
            found.not_supported(path, named(mode), &["Disabled", "Enabled", "IfPossible"]);
        }
    }
}

/// Follows `validateBindMountOptions`.
fn bind_options(mount: &VolumeMount, volumes: &Volumes<'_>, path: &Path<'_>, found: &mut Findings) {
    let options = list(&mount.bind_mount_options);
    let mut seen = Seen::new();
    for (i, option) in options.iter().enumerate() {
        one_of(Some(option), &["nodev", "noexec", "nosuid"], &path.index(i), found);
        if !seen.insert(option.as_str()) {
            found.duplicate(&path.index(i), option);
        }
    }
    if !options.is_empty() && volumes.find(&mount.name).is_some_and(|volume| volume.is_image) {
        let why = "bindMountOptions may not be used with image volumes";
        found.invalid(path, Value::json(&options), why);
    }
}

/// Follows `ValidateVolumeDevices`.
pub(crate) fn devices(
    container: &Container,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let devices = list(&container.volume_devices);
    if devices.is_empty() {
        return;
    }
    let mounts = list(&container.volume_mounts);
    let mounts = OtherMounts::new(mounts.iter().map(|m| (m.name.as_str(), m.mount_path.as_str())));
    let (mut names_seen, mut paths_seen) = (Seen::new(), Seen::new());
    let goes_back = |path: &str| !names::no_backsteps(path).is_empty();
    for (i, device) in devices.iter().enumerate() {
        let at = path.index(i);
        let (name, device_path) = (device.name.as_str(), device.device_path.as_str());
        let (at_name, at_path) = (at.child("name"), at.child("devicePath"));
        if name.is_empty() {
            found.required(&at_name, "");
        } else if !names_seen.insert(name) {
            found.invalid(&at_name, name, "must be unique");
        }
        match volumes.find(name) {
            Some(volume) if !volume.is_claim => {
                let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral \
                           for block mode";
                found.invalid(&at_name, name, why);
            }
            Some(_) => {}
            None => found.not_found(&at_name, name),
        }
        if device_path.is_empty() {
            found.required(&at_path, "");
        }
        if paths_seen.contains(device_path) {
            found.invalid(&at_path, device_path, "must be unique");
        }
        if !goes_back(device_path) {
            paths_seen.insert(device_path);
        } else {
            found.invalid(&at_path, device_path, "can not contain backsteps ('..')");
        }
        if mounts.by_name.contains_key(name) {
            found.invalid(&at_name, name, "must not already exist in volumeMounts");
        }
        if mounts.paths.contains(device_path) {
            let why = "must not already exist as a path in volumeMounts";
            found.invalid(&at_path, device_path, why);
        }
    }
}
