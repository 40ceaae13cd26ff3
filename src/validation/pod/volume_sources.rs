//! The sources of volumes, except projected and ephemeral ones.
//!
//! Kubernetes: `validate…VolumeSource` in `pkg/apis/core/validation/validation.go`.

use k8s_openapi::api::core::v1::{
    AzureDiskVolumeSource, CSIVolumeSource, ConfigMapVolumeSource, DownwardAPIVolumeFile,
    DownwardAPIVolumeSource, FCVolumeSource, FlexVolumeSource, FlockerVolumeSource,
    GitRepoVolumeSource, HostPathVolumeSource, ISCSIVolumeSource, KeyToPath, LocalObjectReference,
    NFSVolumeSource, QuobyteVolumeSource, SecretVolumeSource, StorageOSVolumeSource,
};

use super::{
    env::{field_ref, resource_field_ref},
    options::Options,
    util::{each, file_mode, label, list, local_path, one_of, required, text, unix_id},
};
use crate::{
    finding::{Findings, Path, Value},
    kubernetes::names,
};

const VOLUME_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
const LUN: &str = "must be between 0 and 255, inclusive";

/// Reports `Required` for every string that is empty.
pub(crate) fn all_required(fields: &[(&str, &str)], path: &Path<'_>, found: &mut Findings) {
    for (name, value) in fields {
        required(value, &path.child(name), found);
    }
}

/// Validates disks with a partition: `validateGCEPersistentDiskVolumeSource`,
/// `validateAWSElasticBlockStoreVolumeSource`.
pub(crate) fn disk(
    id: &str,
    field: &str,
    partition: Option<i32>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    required(id, &path.child(field), found);
    if let Some(partition) = partition.filter(|partition| !(0..=255).contains(partition)) {
        let path = path.child("partition");
        found.invalid(&path, partition, "must be between 1 and 255, inclusive");
    }
}

/// Validates monitors of Ceph: `validateRBDVolumeSource`, `validateCephFSVolumeSource`.
pub(crate) fn monitors(monitors: &[String], path: &Path<'_>, found: &mut Findings) {
    if monitors.is_empty() {
        found.required(&path.child("monitors"), "");
    }
}

/// Validates that a reference to a secret names it.
pub(crate) fn secret_ref(
    secret: Option<&LocalObjectReference>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    if let Some(secret) = secret {
        required(&secret.name, &path.child("secretRef").child("name"), found);
    }
}

/// Follows `validateHostPathVolumeSource`.
pub(crate) fn host_path(source: &HostPathVolumeSource, path: &Path<'_>, found: &mut Findings) {
    const TYPES: &[&str] = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let at = path.child("path");
    if source.path.is_empty() {
        found.required(&at, "");
        return;
    }
    each(names::no_backsteps(&source.path), &source.path, &at, found);
    one_of(source.type_.as_deref(), TYPES, &path.child("type"), found);
}

/// Follows `validateGitRepoVolumeSource`.
pub(crate) fn git_repo(source: &GitRepoVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.repository, &path.child("repository"), found);
    let directory = text(&source.directory);
    each(names::local_descending_path(directory), directory, &path.child("directory"), found);
}

/// Follows `validateSecretVolumeSource`.
pub(crate) fn secret(source: &SecretVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(text(&source.secret_name), &path.child("secretName"), found);
    file_mode(source.default_mode, &path.child("defaultMode"), found);
    unix_id(source.default_user, &path.child("defaultUser"), found);
    key_paths(list(&source.items), &path.child("items"), found);
}

/// Follows `validateConfigMapVolumeSource`.
pub(crate) fn config_map(source: &ConfigMapVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.name, &path.child("name"), found);
    file_mode(source.default_mode, &path.child("defaultMode"), found);
    unix_id(source.default_user, &path.child("defaultUser"), found);
    key_paths(list(&source.items), &path.child("items"), found);
}

fn key_paths(items: &[KeyToPath], path: &Path<'_>, found: &mut Findings) {
    for (i, item) in items.iter().enumerate() {
        key_path(item, &path.index(i), found);
    }
}

/// Follows `validateKeyToPath`.
pub(crate) fn key_path(item: &KeyToPath, path: &Path<'_>, found: &mut Findings) {
    required(&item.key, &path.child("key"), found);
    required(&item.path, &path.child("path"), found);
    local_path(&item.path, &path.child("path"), found);
    file_mode(item.mode, &path.child("mode"), found);
    unix_id(item.user, &path.child("user"), found);
}

/// Follows `validateNFSVolumeSource`.
pub(crate) fn nfs(source: &NFSVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.server, &path.child("server"), found);
    required(&source.path, &path.child("path"), found);
    if !source.path.starts_with('/') {
        found.invalid(&path.child("path"), &source.path, "must be an absolute path");
    }
}

/// Follows `validateISCSIVolumeSource`.
pub(crate) fn iscsi(source: &ISCSIVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.target_portal, &path.child("targetPortal"), found);
    if source.iqn.is_empty() {
        found.required(&path.child("iqn"), "");
    } else {
        iscsi_name(&source.iqn, &path.child("iqn"), found);
    }
    if !(0..=255).contains(&source.lun) {
        found.invalid(&path.child("lun"), source.lun, LUN);
    }
    let chap = source.chap_auth_discovery == Some(true) || source.chap_auth_session == Some(true);
    if chap && source.secret_ref.is_none() {
        found.required(&path.child("secretRef"), "");
    }
    if let Some(initiator) = &source.initiator_name {
        iscsi_name(initiator, &path.child("initiatorname"), found);
    }
}

fn iscsi_name(name: &str, path: &Path<'_>, found: &mut Findings) {
    let of_length = |rest: &str, length: usize| {
        // The dot in upstream's regular expression matches any character.
        let mut rest = rest.chars();
        rest.next().is_some_and(|any| any != '\n')
            && rest.clone().count() == length
            && rest.all(|c| c.is_ascii_alphanumeric())
    };
    let good = if name.starts_with("iqn") {
        is_iqn(name)
    } else if let Some(rest) = name.strip_prefix("eui") {
        of_length(rest, 16)
    } else if let Some(rest) = name.strip_prefix("naa") {
        of_length(rest, 32)
    } else {
        found.invalid(path, name, "must be valid format starting with iqn, eui, or naa");
        return;
    };
    if !good {
        found.invalid(path, name, "must be valid format");
    }
}

/// Returns whether the text ends in `iqn.YYYY-MM.naming-authority:name`: `iscsiInitiatorIqnRegex`,
/// which is not anchored at its start.
fn is_iqn(text: &str) -> bool {
    let after_date = |rest: &str| {
        let bytes = rest.as_bytes();
        bytes.len() > 8
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && bytes[4] == b'-'
            && bytes[5..7].iter().all(u8::is_ascii_digit)
            && bytes[7] == b'.'
    };
    text.match_indices("iqn.").any(|(at, prefix)| {
        let rest = &text[at + prefix.len()..];
        after_date(rest)
            && rest.get(8..).is_some_and(|rest| {
                let authority =
                    rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-.".contains(b));
                let end = authority.count();
                let tail = rest[end..].strip_prefix(':');
                end > 0
                    && tail.is_some_and(|name| {
                        !name.is_empty()
                            && !name.contains(|c: char| ",;*&$|\t\n\x0c\r ".contains(c))
                    })
            })
    })
}

/// Follows `validateFlockerVolumeSource`.
pub(crate) fn flocker(source: &FlockerVolumeSource, path: &Path<'_>, found: &mut Findings) {
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
pub(crate) fn quobyte(source: &QuobyteVolumeSource, path: &Path<'_>, found: &mut Findings) {
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

/// Returns whether Go's `net.SplitHostPort` accepts the text.
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

/// Follows `validateDownwardAPIVolumeSource`. The files' paths lack the index, as they do upstream.
pub(crate) fn downward_api(
    source: &DownwardAPIVolumeSource,
    path: &Path<'_>,
    found: &mut Findings,
) {
    file_mode(source.default_mode, &path.child("defaultMode"), found);
    unix_id(source.default_user, &path.child("defaultUser"), found);
    for file in list(&source.items) {
        downward_api_file(file, path, found);
    }
}

/// Follows `validateDownwardAPIVolumeFile`.
pub(crate) fn downward_api_file(
    file: &DownwardAPIVolumeFile,
    path: &Path<'_>,
    found: &mut Findings,
) {
    required(&file.path, &path.child("path"), found);
    local_path(&file.path, &path.child("path"), found);
    match (&file.field_ref, &file.resource_field_ref) {
        (Some(field), resource) => {
            field_ref(field, VOLUME_FIELDS, &path.child("fieldRef"), found);
            if resource.is_some() {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                found.invalid(path, "resource", why);
            }
        }
        (None, Some(resource)) => {
            resource_field_ref(resource, true, &path.child("resourceFieldRef"), found);
        }
        (None, None) => {
            found.required(path, "one of fieldRef and resourceFieldRef is required");
        }
    }
    file_mode(file.mode, &path.child("mode"), found);
    unix_id(file.user, &path.child("user"), found);
}

/// Follows `validateFCVolumeSource`.
pub(crate) fn fc(source: &FCVolumeSource, path: &Path<'_>, found: &mut Findings) {
    let (targets, wwids) = (list(&source.target_wwns), list(&source.wwids));
    let at = path.child("targetWWNs");
    if targets.is_empty() && wwids.is_empty() {
        found.required(&at, "must specify either targetWWNs or wwids, but not both");
    }
    if !targets.is_empty() && !wwids.is_empty() {
        let why = "targetWWNs and wwids can not be specified simultaneously";
        found.invalid(&at, Value::json(&targets), why);
    }
    if !targets.is_empty() {
        let at = path.child("lun");
        match source.lun {
            None => found.required(&at, "lun is required if targetWWNs is specified"),
            Some(lun) if !(0..=255).contains(&lun) => found.invalid(&at, lun, LUN),
            Some(_) => {}
        }
    }
}

/// Follows `validateFlexVolumeSource`.
pub(crate) fn flex_volume(source: &FlexVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.driver, &path.child("driver"), found);
    for key in source.options.iter().flatten().map(|(key, _)| key) {
        let namespace = key.split('/').next().unwrap_or(key).to_lowercase();
        let reserved = |domain: &str| {
            let rest = namespace.strip_suffix(domain);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if reserved("kubernetes.io") || reserved("k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            found.invalid(&path.child("options").key(key), key, why);
        }
    }
}

/// Follows `validateAzureDisk`.
pub(crate) fn azure_disk(source: &AzureDiskVolumeSource, path: &Path<'_>, found: &mut Findings) {
    all_required(&[("diskName", &source.disk_name), ("diskURI", &source.disk_uri)], path, found);
    let modes = &["None", "ReadOnly", "ReadWrite"];
    one_of(source.caching_mode.as_deref(), modes, &path.child("cachingMode"), found);
    let kinds = &["Dedicated", "Managed", "Shared"];
    one_of(source.kind.as_deref(), kinds, &path.child("kind"), found);
    let (prefix, form) = match source.kind.as_deref() {
        None => return,
        Some("Managed") => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        Some(_) => (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };
    if !source.disk_uri.starts_with(prefix) {
        found.not_supported(&path.child("diskURI"), &source.disk_uri, &[form]);
    }
}

/// Follows `validateStorageOSVolumeSource`.
pub(crate) fn storage_os(source: &StorageOSVolumeSource, path: &Path<'_>, found: &mut Findings) {
    let (name, namespace) = (text(&source.volume_name), text(&source.volume_namespace));
    if name.is_empty() {
        found.required(&path.child("volumeName"), "");
    } else {
        label(name, &path.child("volumeName"), found);
    }
    if !namespace.is_empty() {
        label(namespace, &path.child("volumeNamespace"), found);
    }
    secret_ref(source.secret_ref.as_ref(), path, found);
}

/// Follows `validateCSIVolumeSource` and `ValidateCSIDriverName`.
pub(crate) fn csi(source: &CSIVolumeSource, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    let (driver, at) = (source.driver.as_str(), path.child("driver"));
    if driver.is_empty() {
        found.required(&at, "");
    }
    if !driver.is_empty() || opts.empty_csi_driver_is_a_name {
        if driver.len() > 63 {
            found.too_long(&at, 63);
        }
        each(names::dns1123_subdomain(&driver.to_lowercase()), driver, &at, found);
    }
    if let Some(secret) = &source.node_publish_secret_ref {
        if secret.name.is_empty() {
            found.required(&path.child("nodePublishSecretRef").child("name"), "");
        } else {
            // The path is upstream's.
            let at = path.child("name");
            each(names::dns1123_subdomain(&secret.name), &secret.name, &at, found);
        }
    }
}
