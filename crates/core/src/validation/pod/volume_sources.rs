mod cloud;
mod drivers;
pub(super) mod files;
mod iscsi;
mod network;
mod node;

use super::{ephemeral, projected};
use crate::validation::prelude::*;

/// Follows `validateVolumeSource`: validates the first source and forbids the others.
pub(super) fn validate(volume: &Volume, opts: &Options, path: &At<'_>) {
    let mut sources = Sources { path, given: 0 };
    // Order and paths are upstream's, misspellings included.
    sources.add(&volume.empty_dir, "emptyDir", node::empty_dir);
    sources.add(&volume.host_path, "hostPath", node::host_path);
    sources.add(&volume.git_repo, "gitRepo", node::git_repo);
    let gce = ("gcePersistentDisk", "persistentDisk");
    sources.add_at(&volume.gce_persistent_disk, gce, |disk, path| {
        required(&disk.pd_name, &path.child("pdName"));
        cloud::partition(disk.partition, path);
    });
    sources.add(&volume.aws_elastic_block_store, "awsElasticBlockStore", |disk, path| {
        required(&disk.volume_id, &path.child("volumeID"));
        cloud::partition(disk.partition, path);
    });
    sources.add(&volume.secret, "secret", files::secret);
    sources.add(&volume.nfs, "nfs", network::nfs);
    sources.add(&volume.iscsi, "iscsi", iscsi::iscsi);
    iscsi::initiator(volume, path);
    sources.add(&volume.glusterfs, "glusterfs", |it, path| {
        required(&it.endpoints, &path.child("endpoints"));
        required(&it.path, &path.child("path"));
    });
    sources.add(&volume.flocker, "flocker", network::flocker);
    sources.add(&volume.persistent_volume_claim, "persistentVolumeClaim", |claim, path| {
        required(&claim.claim_name, &path.child("claimName"));
    });
    sources.add(&volume.rbd, "rbd", |it, path| {
        network::monitors(&it.monitors, path);
        required(&it.image, &path.child("image"));
    });
    sources.add(&volume.cinder, "cinder", |it, path| {
        required(&it.volume_id, &path.child("volumeID"));
        secret_ref(it.secret_ref.as_ref(), path);
    });
    sources.add_at(&volume.cephfs, ("cephFS", "cephfs"), |it, path| {
        network::monitors(&it.monitors, path);
    });
    sources.add(&volume.quobyte, "quobyte", network::quobyte);
    sources.add_at(&volume.downward_api, ("downwarAPI", "downwardAPI"), files::downward_api);
    sources.add(&volume.fc, "fc", iscsi::fc);
    sources.add(&volume.flex_volume, "flexVolume", drivers::flex_volume);
    sources.add(&volume.config_map, "configMap", files::config_map);
    sources.add(&volume.azure_file, "azureFile", |file, path| {
        required(&file.secret_name, &path.child("secretName"));
        required(&file.share_name, &path.child("shareName"));
    });
    sources.add(&volume.vsphere_volume, "vsphereVolume", |disk, path| {
        required(&disk.volume_path, &path.child("volumePath"));
    });
    sources.add(&volume.photon_persistent_disk, "photonPersistentDisk", |disk, path| {
        required(&disk.pd_id, &path.child("pdID"));
    });
    sources.add(&volume.portworx_volume, "portworxVolume", |disk, path| {
        required(&disk.volume_id, &path.child("volumeID"));
    });
    sources.add(&volume.azure_disk, "azureDisk", cloud::azure_disk);
    sources.add(&volume.storageos, "storageos", network::storage_os);
    sources.add(&volume.projected, "projected", |source, path| {
        projected::validate(source, opts, path);
    });
    sources.add(&volume.scale_io, "scaleIO", |it, path| {
        required(&it.gateway, &path.child("gateway"));
        required(&it.system, &path.child("system"));
        required(text(&it.volume_name), &path.child("volumeName"));
    });
    sources.add(&volume.csi, "csi", |it, path| drivers::csi(it, opts, path));
    sources.add(&volume.ephemeral, "ephemeral", |source, path| {
        ephemeral::validate(source, opts, path);
    });
    sources.add(&volume.image, "image", |it, path| node::image(it, opts, path));
    if sources.given == 0 {
        path.required("must specify a volume type");
    }
}

struct Sources<'a> {
    path: &'a At<'a>,
    given: usize,
}

impl Sources<'_> {
    fn add<T>(&mut self, source: &Option<T>, field: &str, check: impl FnOnce(&T, &At<'_>)) {
        self.add_at(source, (field, field), check);
    }

    /// The path depends on whether the source is the first.
    fn add_at<T>(
        &mut self,
        source: &Option<T>,
        (as_further, as_first): (&str, &str),
        check: impl FnOnce(&T, &At<'_>),
    ) {
        let Some(source) = source else { return };
        self.given += 1;
        if self.given > 1 {
            self.path.child(as_further).forbidden("may not specify more than 1 volume type");
        } else {
            check(source, &self.path.child(as_first));
        }
    }
}
