use crate::validation::prelude::*;

/// The longest hostname that Linux allows.
const MAX_HOSTNAME: usize = 64;

/// Follows `validateHostUsers`.
pub(crate) fn users(spec: &PodSpec, opts: &Options, path: &At<'_>) {
    const WHY: &str = "when `hostUsers` is false";
    if spec.host_users != Some(false) {
        return;
    }
    if !opts.host_users_on_host_network && spec.host_network == Some(true) {
        path.child("hostNetwork").forbidden(WHY);
    }
    // The capital letters are upstream's.
    let fields = [("HostPID", spec.host_pid), ("HostIPC", spec.host_ipc)];
    path.forbid(&fields.map(|(name, is_set)| (name, is_set == Some(true))), WHY);
    if !opts.host_users_with_volume_devices {
        visit(spec, path, &mut |container, path| {
            if !list(&container.volume_devices).is_empty() {
                path.child("volumeDevices").forbidden(WHY);
            }
        });
    }
}

/// Follows `validatePodHostName`.
pub(crate) fn name_override(spec: &PodSpec, path: &At<'_>) {
    let Some(name) = &spec.hostname_override else { return };
    let path = path.child("hostnameOverride");
    if spec.set_hostname_as_fqdn == Some(true) {
        path.forbidden("may not be specified when setHostnameAsFQDN is true");
    }
    if spec.host_network == Some(true) {
        path.forbidden("may not be specified when hostNetwork is true");
    }
    if name.len() > MAX_HOSTNAME {
        path.too_long(MAX_HOSTNAME);
    }
    subdomain(name, &path);
}
