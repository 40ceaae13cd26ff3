use super::pod::{CreatedPod, REFUSED};
use crate::kubernetes::containers;
use crate::validation::prelude::*;

/// The plugin mounts no token into a container that mounts a volume there.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The plugin takes a volume of the template with such a name for the token's.
const VOLUME_PREFIX: &str = "kube-api-access-";

/// Follows `mountServiceAccountToken`, plugin/pkg/admission/serviceaccount/admission.go: the mount that the plugin adds
/// must not collide with a device (`validateVolumeMounts`, `validateVolumeDevices`).
pub(super) fn validate(pod: &CreatedPod<'_>, found: &mut Findings) {
    let has_devices = containers::containers(pod.spec)
        .any(|container| !list(&container.volume_devices).is_empty());
    let is_mounted = pod.spec.automount_service_account_token != Some(false) && !pod.is_mirror();
    if !has_devices || !is_mounted {
        return;
    }
    let is_token = |name: &&str| name.starts_with(VOLUME_PREFIX);
    let of_claim = pod.claims().iter().copied().find(is_token);
    let of_template = || pod.volumes().map(|(_, volume)| volume.name.as_str()).find(is_token);
    let volume = of_claim.or_else(of_template);
    let help = "the service account's token is mounted there: use another name or path, or set \
                automountServiceAccountToken to false";
    found.quote(REFUSED, help, |found| {
        visit(pod.spec, &found.at(&POD_SPEC), &mut |container, path| {
            if list(&container.volume_mounts).iter().any(|mount| mount.mount_path == MOUNT_PATH) {
                return;
            }
            let path = path.child("volumeDevices");
            for (device, path) in path.items(list(&container.volume_devices)) {
                if volume == Some(&device.name) {
                    let detail = "must not already exist in volumeMounts";
                    path.child("name").invalid(&device.name, detail);
                }
                if device.device_path == MOUNT_PATH {
                    let detail = "must not already exist as a path in volumeMounts";
                    path.child("devicePath").invalid(MOUNT_PATH, detail);
                }
            }
        });
    });
}
