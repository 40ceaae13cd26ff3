//! Volume mounts and volume devices of a container.
//!
//! Kubernetes: `ValidateVolumeMounts` and `ValidateVolumeDevices` in
//! `pkg/apis/core/validation/validation.go`.

use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::{
    util::{each, list, named, one_of, text},
    volumes::Volumes,
};
use crate::{api_validation::names, field::Path, finding::Findings};

/// `ValidateVolumeMounts`. Some paths lack the index, as they do upstream.
pub(crate) fn validate(
    container: &Container,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let mounts = list(&container.volume_mounts);
    let devices = list(&container.volume_devices);
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
        if mounts[..i].iter().any(|earlier| earlier.mount_path == mount_path) {
            found.invalid(&at.child("mountPath"), mount_path, "must be unique");
        }
        if devices.iter().any(|device| device.name == name) {
            let why = "must not already exist in volumeDevices";
            found.invalid(&at.child("name"), name, why);
        }
        // Of devices with the same name upstream knows the last.
        let last = |j: usize| devices[j + 1..].iter().all(|later| later.name != devices[j].name);
        if (0..devices.len()).any(|j| devices[j].device_path == mount_path && last(j)) {
            let why = "must not already exist as a path in volumeDevices";
            found.invalid(&at.child("mountPath"), mount_path, why);
        }
        sub_path(mount, &at, path, found);
        propagation(mount, container, &path.child("mountPropagation"), found);
        recursive_read_only(mount, &path.child("recursiveReadOnly"), found);
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

/// `validateMountPropagation`.
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

/// `validateMountRecursiveReadOnly`.
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

/// `ValidateVolumeDevices`.
pub(crate) fn devices(
    container: &Container,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let devices = list(&container.volume_devices);
    let mounts = list(&container.volume_mounts);
    let goes_back = |path: &str| !names::no_backsteps(path).is_empty();
    for (i, device) in devices.iter().enumerate() {
        let at = path.index(i);
        let (name, device_path) = (device.name.as_str(), device.device_path.as_str());
        let (at_name, at_path) = (at.child("name"), at.child("devicePath"));
        if name.is_empty() {
            found.required(&at_name, "");
        } else if devices[..i].iter().any(|earlier| earlier.name == name) {
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
        let earlier = |d: &&str| *d == device_path && !goes_back(d);
        if devices[..i].iter().map(|d| d.device_path.as_str()).any(|d| earlier(&d)) {
            found.invalid(&at_path, device_path, "must be unique");
        }
        if goes_back(device_path) {
            found.invalid(&at_path, device_path, "can not contain backsteps ('..')");
        }
        if mounts.iter().any(|mount| mount.name == name) {
            found.invalid(&at_name, name, "must not already exist in volumeMounts");
        }
        // Of mounts with the same name upstream knows the last.
        let last = |j: usize| mounts[j + 1..].iter().all(|later| later.name != mounts[j].name);
        if (0..mounts.len()).any(|j| mounts[j].mount_path == device_path && last(j)) {
            let why = "must not already exist as a path in volumeMounts";
            found.invalid(&at_path, device_path, why);
        }
    }
}
