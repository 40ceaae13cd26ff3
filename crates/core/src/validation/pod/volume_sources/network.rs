use k8s_openapi::api::core::v1::{
    CephFSVolumeSource, FlockerVolumeSource, GlusterfsVolumeSource, NFSVolumeSource,
    QuobyteVolumeSource, RBDVolumeSource, ScaleIOVolumeSource, StorageOSVolumeSource,
};

use crate::validation::prelude::*;

/// Follows `validateGlusterfsVolumeSource`.
pub(super) fn glusterfs(source: &GlusterfsVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.endpoints, &path.child("endpoints"), found);
    required(&source.path, &path.child("path"), found);
}

/// Follows `validateRBDVolumeSource`.
pub(super) fn rbd(source: &RBDVolumeSource, path: &Path<'_>, found: &mut Findings) {
    monitors(&source.monitors, path, found);
    required(&source.image, &path.child("image"), found);
}

/// Follows `validateCephFSVolumeSource`.
pub(super) fn ceph_fs(source: &CephFSVolumeSource, path: &Path<'_>, found: &mut Findings) {
    monitors(&source.monitors, path, found);
}

fn monitors(monitors: &[String], path: &Path<'_>, found: &mut Findings) {
    if monitors.is_empty() {
        found.required(&path.child("monitors"), "");
    }
}

/// Follows `validateScaleIOVolumeSource`.
pub(super) fn scale_io(source: &ScaleIOVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.gateway, &path.child("gateway"), found);
    required(&source.system, &path.child("system"), found);
    required(text(&source.volume_name), &path.child("volumeName"), found);
}

/// Follows `validateNFSVolumeSource`.
pub(super) fn nfs(source: &NFSVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.server, &path.child("server"), found);
    required(&source.path, &path.child("path"), found);
    if !source.path.starts_with('/') {
        found.invalid(&path.child("path"), &source.path, "must be an absolute path");
    }
}

/// Follows `validateFlockerVolumeSource`.
pub(super) fn flocker(source: &FlockerVolumeSource, path: &Path<'_>, found: &mut Findings) {
    let (name, uuid) = (text(&source.dataset_name), text(&source.dataset_uuid));
    if name.is_empty() && uuid.is_empty() {
        found.required(path, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        let why = "datasetName and datasetUUID can not be specified simultaneously";
        found.invalid(path, "resource", why);
    }
    if name.contains('/') {
        found.invalid(&path.child("datasetName"), name, "must not contain '/'");
    }
}

/// Follows `validateQuobyteVolumeSource`.
pub(super) fn quobyte(source: &QuobyteVolumeSource, path: &Path<'_>, found: &mut Findings) {
    let why = "must be a host:port pair or multiple pairs separated by commas";
    if source.registry.is_empty() {
        found.required(&path.child("registry"), why);
    } else if text(&source.tenant).len() >= 65 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        found.required(&path.child("tenant"), why);
    } else {
        for _ in source.registry.split(',').filter(|pair| !is_host_port(pair)) {
            found.invalid(&path.child("registry"), &source.registry, why);
        }
    }
    required(&source.volume, &path.child("volume"), found);
}

/// Go's `net.SplitHostPort`
fn is_host_port(text: &str) -> bool {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((host, rest)) => (host, rest),
            None => return false,
        },
        None => match text.rfind(':') {
            Some(at) => (&text[..at], &text[at..]),
            None => return false,
        },
    };
    let bracketed = text.starts_with('[');
    let port = rest.strip_prefix(':');
    port.is_some_and(|port| !port.contains([':', '[', ']']))
        && (bracketed || !host.contains(':'))
        && !host.contains(['[', ']'])
}

/// Follows `validateStorageOSVolumeSource`.
pub(super) fn storage_os(source: &StorageOSVolumeSource, path: &Path<'_>, found: &mut Findings) {
    let (name, namespace) = (text(&source.volume_name), text(&source.volume_namespace));
    filled(name, names::dns1123_label, &path.child("volumeName"), found);
    if !namespace.is_empty() {
        label(namespace, &path.child("volumeNamespace"), found);
    }
    secret_ref(source.secret_ref.as_ref(), path, found);
}
