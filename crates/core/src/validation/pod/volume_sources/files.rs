use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, DownwardAPIVolumeFile, DownwardAPIVolumeSource, KeyToPath,
    SecretVolumeSource,
};

use crate::validation::pod::env::{field_ref, resource_field_ref};
use crate::validation::prelude::*;

const VOLUME_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Follows `validateSecretVolumeSource`.
pub(super) fn secret(source: &SecretVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(text(&source.secret_name), &path.child("secretName"), found);
    file_mode(source.default_mode, &path.child("defaultMode"), found);
    unix_id(source.default_user, &path.child("defaultUser"), found);
    key_paths(list(&source.items), &path.child("items"), found);
}

/// Follows `validateConfigMapVolumeSource`.
pub(super) fn config_map(source: &ConfigMapVolumeSource, path: &Path<'_>, found: &mut Findings) {
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

/// Follows `validateDownwardAPIVolumeSource`. The files' paths lack the index, as they do upstream.
pub(super) fn downward_api(
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
