use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, DownwardAPIVolumeFile, DownwardAPIVolumeSource, KeyToPath,
    SecretVolumeSource,
};

use crate::validation::pod::env::{field_ref, resource_field_ref};
use crate::validation::prelude::*;

const VOLUME_FIELDS: &[&str] = &[
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
];

/// Follows `validateSecretVolumeSource`.
pub(super) fn secret(source: &SecretVolumeSource, path: &At<'_>) {
    required(text(&source.secret_name), &path.child("secretName"));
    files((source.default_mode, source.default_user, &source.items), path);
}

/// Follows `validateConfigMapVolumeSource`.
pub(super) fn config_map(source: &ConfigMapVolumeSource, path: &At<'_>) {
    required(&source.name, &path.child("name"));
    files((source.default_mode, source.default_user, &source.items), path);
}

fn files((mode, user, items): (Option<i32>, Option<i64>, &Option<Vec<KeyToPath>>), path: &At<'_>) {
    file_mode(mode, &path.child("defaultMode"));
    unix_id(user, &path.child("defaultUser"));
    for (item, path) in path.child("items").items(list(items)) {
        key_path(item, &path);
    }
}

/// Follows `validateKeyToPath`.
pub(crate) fn key_path(item: &KeyToPath, path: &At<'_>) {
    required(&item.key, &path.child("key"));
    required(&item.path, &path.child("path"));
    local_path(&item.path, &path.child("path"));
    file_mode(item.mode, &path.child("mode"));
    unix_id(item.user, &path.child("user"));
}

/// Follows `validateDownwardAPIVolumeSource`. The files' paths lack the index, as they do upstream.
pub(super) fn downward_api(source: &DownwardAPIVolumeSource, path: &At<'_>) {
    file_mode(source.default_mode, &path.child("defaultMode"));
    unix_id(source.default_user, &path.child("defaultUser"));
    for file in list(&source.items) {
        downward_api_file(file, path);
    }
}

/// Follows `validateDownwardAPIVolumeFile`.
pub(crate) fn downward_api_file(file: &DownwardAPIVolumeFile, path: &At<'_>) {
    required(&file.path, &path.child("path"));
    local_path(&file.path, &path.child("path"));
    match (&file.field_ref, &file.resource_field_ref) {
        (Some(field), resource) => {
            field_ref(field, VOLUME_FIELDS, &path.child("fieldRef"));
            if resource.is_some() {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                path.invalid("resource", why);
            }
        }
        (None, Some(resource)) => {
            resource_field_ref(resource, true, &path.child("resourceFieldRef"));
        }
        (None, None) => path.required("one of fieldRef and resourceFieldRef is required"),
    }
    file_mode(file.mode, &path.child("mode"));
    unix_id(file.user, &path.child("user"));
}
