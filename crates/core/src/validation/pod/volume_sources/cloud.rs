use k8s_openapi::api::core::v1::{
    AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, AzureFileVolumeSource,
    CinderVolumeSource, GCEPersistentDiskVolumeSource,
};

use crate::validation::prelude::*;

/// Follows `validateGCEPersistentDiskVolumeSource`.
pub(super) fn gce_disk(
    source: &GCEPersistentDiskVolumeSource,
    path: &Path<'_>,
    found: &mut Findings,
) {
    required(&source.pd_name, &path.child("pdName"), found);
    partition(source.partition, path, found);
}

/// Follows `validateAWSElasticBlockStoreVolumeSource`.
pub(super) fn aws_disk(
    source: &AWSElasticBlockStoreVolumeSource,
    path: &Path<'_>,
    found: &mut Findings,
) {
    required(&source.volume_id, &path.child("volumeID"), found);
    partition(source.partition, path, found);
}

fn partition(partition: Option<i32>, path: &Path<'_>, found: &mut Findings) {
    if let Some(partition) = partition.filter(|partition| !(0..=255).contains(partition)) {
        let path = path.child("partition");
        found.invalid(&path, partition, "must be between 1 and 255, inclusive");
    }
}

/// Follows `validateCinderVolumeSource`.
pub(super) fn cinder(source: &CinderVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.volume_id, &path.child("volumeID"), found);
    secret_ref(source.secret_ref.as_ref(), path, found);
}

/// Follows `validateAzureFile`.
pub(super) fn azure_file(source: &AzureFileVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.secret_name, &path.child("secretName"), found);
    required(&source.share_name, &path.child("shareName"), found);
}

/// Follows `validateAzureDisk`.
pub(super) fn azure_disk(source: &AzureDiskVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.disk_name, &path.child("diskName"), found);
    required(&source.disk_uri, &path.child("diskURI"), found);
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
