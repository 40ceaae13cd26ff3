use crate::validation::prelude::*;

/// The longest hostname that Linux allows.
const MAX_HOSTNAME: usize = 64;

/// Follows `validateHostUsers`.
pub(crate) fn users(spec: &PodSpec, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    const WHY: &str = "when `hostUsers` is false";
    if spec.host_users != Some(false) {
        return;
    }
    if !opts.host_users_on_host_network && spec.host_network == Some(true) {
        found.forbidden(&path.child("hostNetwork"), WHY);
    }
    // The capital letters are upstream's.
    if spec.host_pid == Some(true) {
        found.forbidden(&path.child("HostPID"), WHY);
    }
    if spec.host_ipc == Some(true) {
        found.forbidden(&path.child("HostIPC"), WHY);
    }
    if !opts.host_users_with_volume_devices {
        visit(spec, path, &mut |container, path| {
            if !list(&container.volume_devices).is_empty() {
                found.forbidden(&path.child("volumeDevices"), WHY);
            }
        });
    }
}

/// Follows `validatePodHostName`.
pub(crate) fn name_override(spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let Some(name) = &spec.hostname_override else { return };
    let path = path.child("hostnameOverride");
    if spec.set_hostname_as_fqdn == Some(true) {
        found.forbidden(&path, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.host_network == Some(true) {
        found.forbidden(&path, "may not be specified when hostNetwork is true");
    }
    if name.len() > MAX_HOSTNAME {
        found.too_long(&path, MAX_HOSTNAME);
    }
    subdomain(name, &path, found);
}
