use k8s_openapi::api::core::v1::Volume;

use crate::object::defaults::shared::{field_files, is_empty, pull_policy_of, text};

/// The mode of files from Secrets, ConfigMaps and similar sources.
const FILE_MODE: i32 = 0o644;

/// `SetDefaults_Volume` and the functions for the volume's source.
pub(super) fn volume(volume: &mut Volume) {
    if *volume == (Volume { name: volume.name.clone(), ..Volume::default() }) {
        volume.empty_dir.get_or_insert_default();
    }
    if let Some(source) = &mut volume.host_path {
        source.type_.get_or_insert_default();
    }
    if let Some(source) = &mut volume.secret {
        source.default_mode.get_or_insert(FILE_MODE);
    }
    if let Some(source) = &mut volume.config_map {
        source.default_mode.get_or_insert(FILE_MODE);
    }
    if let Some(source) = &mut volume.downward_api {
        source.default_mode.get_or_insert(FILE_MODE);
        field_files(&mut source.items);
    }
    if let Some(source) = &mut volume.projected {
        source.default_mode.get_or_insert(FILE_MODE);
        for projection in source.sources.iter_mut().flatten() {
            if let Some(downward) = &mut projection.downward_api {
                field_files(&mut downward.items);
            }
            if let Some(token) = &mut projection.service_account_token {
                token.expiration_seconds.get_or_insert(3600);
            }
        }
    }
    if let Some(template) =
        volume.ephemeral.as_mut().and_then(|source| source.volume_claim_template.as_mut())
    {
        template.spec.volume_mode.get_or_insert_with(|| "Filesystem".to_owned());
    }
    if let Some(image) = &mut volume.image
        && is_empty(image.pull_policy.as_deref())
    {
        let policy = pull_policy_of(image.reference.as_deref().unwrap_or_default());
        image.pull_policy = Some(policy.to_owned());
    }
    legacy(volume);
}

/// CSI drivers have replaced these sources.
fn legacy(volume: &mut Volume) {
    if let Some(source) = &mut volume.iscsi {
        text(&mut source.iscsi_interface, "default");
    }
    if let Some(source) = &mut volume.rbd {
        text(&mut source.pool, "rbd");
        text(&mut source.user, "admin");
        text(&mut source.keyring, "/etc/ceph/keyring");
    }
    if let Some(source) = &mut volume.azure_disk {
        source.caching_mode.get_or_insert_with(|| "ReadWrite".to_owned());
        source.fs_type.get_or_insert_with(|| "ext4".to_owned());
        source.read_only.get_or_insert(false);
        source.kind.get_or_insert_with(|| "Shared".to_owned());
    }
    if let Some(source) = &mut volume.scale_io {
        text(&mut source.storage_mode, "ThinProvisioned");
        text(&mut source.fs_type, "xfs");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaulted(json: serde_json::Value) -> Volume {
        let mut one = serde_json::from_value(json).unwrap();
        volume(&mut one);
        one
    }

    #[test]
    fn a_volume_of_nothing_is_an_empty_directory() {
        assert!(defaulted(serde_json::json!({"name": "a"})).empty_dir.is_some());
        let host = defaulted(serde_json::json!({"name": "a", "hostPath": {"path": "/x"}}));
        assert!(host.empty_dir.is_none());
        assert_eq!(host.host_path.unwrap().type_.as_deref(), Some(""));
    }

    #[test]
    fn files_have_a_mode_and_tokens_an_end() {
        let projected = defaulted(serde_json::json!({"name": "a", "projected": {"sources": [
            {"serviceAccountToken": {"path": "t"}},
            {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        ]}}));
        let projected = projected.projected.unwrap();
        assert_eq!(projected.default_mode, Some(420));
        let sources = projected.sources.unwrap();
        let token = sources[0].service_account_token.as_ref().unwrap();
        assert_eq!(token.expiration_seconds, Some(3600));
        let items = sources[1].downward_api.as_ref().unwrap().items.as_ref().unwrap();
        assert_eq!(items[0].field_ref.as_ref().unwrap().api_version.as_deref(), Some("v1"));
    }
}
