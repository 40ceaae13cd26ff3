use k8s_openapi::api::core::v1::{
    FlockerVolumeSource, NFSVolumeSource, QuobyteVolumeSource, StorageOSVolumeSource,
};

use crate::validation::prelude::*;

pub(super) fn monitors(monitors: &[String], path: &At<'_>) {
    if monitors.is_empty() {
        path.child("monitors").required("");
    }
}

/// Follows `validateNFSVolumeSource`.
pub(super) fn nfs(source: &NFSVolumeSource, path: &At<'_>) {
    required(&source.server, &path.child("server"));
    required(&source.path, &path.child("path"));
    if !source.path.starts_with('/') {
        path.child("path").invalid(&source.path, "must be an absolute path");
    }
}

/// Follows `validateFlockerVolumeSource`.
pub(super) fn flocker(source: &FlockerVolumeSource, path: &At<'_>) {
    let (name, uuid) = (text(&source.dataset_name), text(&source.dataset_uuid));
    if name.is_empty() && uuid.is_empty() {
        path.required("one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        path.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.contains('/') {
        path.child("datasetName").invalid(name, "must not contain '/'");
    }
}

/// Follows `validateQuobyteVolumeSource`.
pub(super) fn quobyte(source: &QuobyteVolumeSource, path: &At<'_>) {
    let why = "must be a host:port pair or multiple pairs separated by commas";
    if source.registry.is_empty() {
        path.child("registry").required(why);
    } else if text(&source.tenant).len() >= 65 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        path.child("tenant").required(why);
    } else {
        for _ in source.registry.split(',').filter(|pair| !is_host_port(pair)) {
            path.child("registry").invalid(&source.registry, why);
        }
    }
    required(&source.volume, &path.child("volume"));
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
pub(super) fn storage_os(source: &StorageOSVolumeSource, path: &At<'_>) {
    let (name, namespace) = (text(&source.volume_name), text(&source.volume_namespace));
    filled(name, names::dns1123_label, &path.child("volumeName"));
    if !namespace.is_empty() {
        label(namespace, &path.child("volumeNamespace"));
    }
    secret_ref(source.secret_ref.as_ref(), path);
}
