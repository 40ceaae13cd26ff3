mod cloud;
mod drivers;
pub(super) mod files;
mod iscsi;
mod network;
mod node;

use super::{ephemeral, projected};
use crate::validation::prelude::*;

/// Follows `validateVolumeSource`: validates the first source and forbids the others.
pub(super) fn validate(volume: &Volume, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    let mut sources = Sources { path, found, given: 0 };
    // Order and paths are upstream's, misspellings included.
    sources.add(&volume.empty_dir, "emptyDir", node::empty_dir);
    sources.add(&volume.host_path, "hostPath", node::host_path);
    sources.add(&volume.git_repo, "gitRepo", node::git_repo);
    let gce = ("gcePersistentDisk", "persistentDisk");
    sources.add_at(&volume.gce_persistent_disk, gce, cloud::gce_disk);
    sources.add(&volume.aws_elastic_block_store, "awsElasticBlockStore", cloud::aws_disk);
    sources.add(&volume.secret, "secret", files::secret);
    sources.add(&volume.nfs, "nfs", network::nfs);
    sources.add(&volume.iscsi, "iscsi", iscsi::iscsi);
    iscsi::initiator(volume, path, sources.found);
    sources.add(&volume.glusterfs, "glusterfs", network::glusterfs);
    sources.add(&volume.flocker, "flocker", network::flocker);
    sources.add(&volume.persistent_volume_claim, "persistentVolumeClaim", |claim, path, found| {
        required(&claim.claim_name, &path.child("claimName"), found);
    });
    sources.add(&volume.rbd, "rbd", network::rbd);
    sources.add(&volume.cinder, "cinder", cloud::cinder);
    sources.add_at(&volume.cephfs, ("cephFS", "cephfs"), network::ceph_fs);
    sources.add(&volume.quobyte, "quobyte", network::quobyte);
    sources.add_at(&volume.downward_api, ("downwarAPI", "downwardAPI"), files::downward_api);
    sources.add(&volume.fc, "fc", iscsi::fc);
    sources.add(&volume.flex_volume, "flexVolume", drivers::flex_volume);
    sources.add(&volume.config_map, "configMap", files::config_map);
    sources.add(&volume.azure_file, "azureFile", cloud::azure_file);
    sources.add(&volume.vsphere_volume, "vsphereVolume", |disk, path, found| {
        required(&disk.volume_path, &path.child("volumePath"), found);
    });
    sources.add(&volume.photon_persistent_disk, "photonPersistentDisk", |disk, path, found| {
        required(&disk.pd_id, &path.child("pdID"), found);
    });
    sources.add(&volume.portworx_volume, "portworxVolume", |disk, path, found| {
        required(&disk.volume_id, &path.child("volumeID"), found);
    });
    sources.add(&volume.azure_disk, "azureDisk", cloud::azure_disk);
    sources.add(&volume.storageos, "storageos", network::storage_os);
    sources.add(&volume.projected, "projected", |source, path, found| {
        projected::validate(source, opts, path, found);
    });
    sources.add(&volume.scale_io, "scaleIO", network::scale_io);
    sources.add(&volume.csi, "csi", |it, path, found| drivers::csi(it, opts, path, found));
    sources.add(&volume.ephemeral, "ephemeral", |source, path, found| {
        ephemeral::validate(source, opts, path, found);
    });
    sources.add(&volume.image, "image", |it, path, found| node::image(it, opts, path, found));
    if sources.given == 0 {
        sources.found.required(path, "must specify a volume type");
    }
}

struct Sources<'a> {
    path: &'a Path<'a>,
    found: &'a mut Findings,
    given: usize,
}

impl Sources<'_> {
    fn add<T>(
        &mut self,
        source: &Option<T>,
        field: &str,
        check: impl FnOnce(&T, &Path<'_>, &mut Findings),
    ) {
        self.add_at(source, (field, field), check);
    }

    /// The path depends on whether the source is the first.
    fn add_at<T>(
        &mut self,
        source: &Option<T>,
        (as_further, as_first): (&str, &str),
        check: impl FnOnce(&T, &Path<'_>, &mut Findings),
    ) {
        let Some(source) = source else { return };
        self.given += 1;
        if self.given > 1 {
            let why = "may not specify more than 1 volume type";
            self.found.forbidden(&self.path.child(as_further), why);
        } else {
            check(source, &self.path.child(as_first), self.found);
        }
    }
}
