use k8s_openapi::api::core::v1::AzureDiskVolumeSource;

use crate::validation::prelude::*;

pub(super) fn partition(partition: Option<i32>, path: &At<'_>) {
    if let Some(partition) = partition.filter(|partition| !(0..=255).contains(partition)) {
        path.child("partition").invalid(partition, "must be between 1 and 255, inclusive");
    }
}

/// Follows `validateAzureDisk`.
pub(super) fn azure_disk(source: &AzureDiskVolumeSource, path: &At<'_>) {
    required(&source.disk_name, &path.child("diskName"));
    required(&source.disk_uri, &path.child("diskURI"));
    let modes = &["None", "ReadOnly", "ReadWrite"];
    one_of(source.caching_mode.as_deref(), modes, &path.child("cachingMode"));
    let kinds = &["Dedicated", "Managed", "Shared"];
    one_of(source.kind.as_deref(), kinds, &path.child("kind"));
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
        path.child("diskURI").not_supported(&source.disk_uri, &[form]);
    }
}
