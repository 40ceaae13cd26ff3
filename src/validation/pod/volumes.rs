//! Volumes: their names, and their sources, of which each volume has one.
//!
//! Kubernetes: `ValidateVolumes` and `validateVolumeSource` in
//! `pkg/apis/core/validation/validation.go`.

use k8s_openapi::api::core::v1::Volume;

use super::{
    ephemeral,
    options::Options,
    projected,
    util::{Seen, label, pull_policy, text},
    volume_sources as sources,
};
use crate::{
    finding::{Findings, Path},
    kubernetes::quantity::Quantity,
};

/// The valid volumes, which mounts and devices may reference.
#[derive(Debug, Default)]
pub(crate) struct Volumes<'a> {
    /// The volumes, sorted by name.
    known: Vec<Known<'a>>,
}

/// The data about a volume that the rules for a mount or device need.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    name: &'a str,
    /// Whether the volume is backed by a claim.
    pub(crate) is_claim: bool,
    /// Whether the volume is an image.
    pub(crate) is_image: bool,
}

impl Volumes<'_> {
    /// Returns a volume by its name.
    pub(crate) fn find(&self, name: &str) -> Option<&Known<'_>> {
        let at = self.known.binary_search_by(|known| known.name.cmp(name)).ok()?;
        self.known.get(at)
    }
}

/// Follows `ValidateVolumes`. A StatefulSet's claim templates come first and replace volumes with
/// an equal name, as in `ValidateStatefulSetSpec` (`pkg/apis/apps/validation`).
pub(crate) fn validate<'a>(
    volumes: &'a [Volume],
    claims: &[&'a str],
    opts: &Options,
    path: &Path<'_>,
    found: &mut Findings,
) -> Volumes<'a> {
    let mut known = Vec::with_capacity(volumes.len() + claims.len());
    let (mut seen, mut of_claims) = (Seen::new(), Seen::new());
    let mut i = 0;
    for &name in claims {
        if !of_claims.insert(name) {
            continue;
        }
        let path = path.index(i);
        let before = found.len();
        if name.is_empty() {
            let claim = path.child("persistentVolumeClaim");
            found.required(&claim.child("claimName"), "");
        }
        self::name(name, &path, found);
        if found.len() == before {
            seen.insert(name);
            known.push(Known { name, is_claim: true, is_image: false });
        }
        i += 1;
    }
    for volume in volumes.iter().filter(|volume| !of_claims.contains(volume.name.as_str())) {
        let path = path.index(i);
        let before = found.len();
        source(volume, opts, &path, found);
        self::name(&volume.name, &path, found);
        if seen.contains(volume.name.as_str()) {
            found.duplicate(&path.child("name"), &volume.name);
        }
        if found.len() == before {
            let is_claim = volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some();
            seen.insert(volume.name.as_str());
            let is_image = volume.image.is_some();
            known.push(Known { name: &volume.name, is_claim, is_image });
        }
        i += 1;
    }
    known.sort_unstable_by_key(|known| known.name);
    Volumes { known }
}

fn name(name: &str, path: &Path<'_>, found: &mut Findings) {
    let path = path.child("name");
    if name.is_empty() {
        found.required(&path, "");
    } else {
        label(name, &path, found);
    }
}

/// Follows `validateVolumeSource`: validates the first source and forbids every other one.
fn source(volume: &Volume, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    let mut given = 0;
    if let Some(dir) = &volume.empty_dir {
        given += 1;
        let limit = dir.size_limit.as_ref().and_then(|limit| Quantity::parse(&limit.0));
        if limit.is_some_and(|limit| limit.is_negative()) {
            let why = "SizeLimit field must be a valid resource quantity";
            found.forbidden(&path.child("emptyDir").child("sizeLimit"), why);
        }
        if let Some(mode) = dir.mode.filter(|mode| !(0..=0o1777).contains(mode)) {
            let why = "must be a number between 0 and 01777 (octal), both inclusive";
            found.invalid(&path.child("emptyDir").child("mode"), mode, why);
        }
    }
    // The paths are upstream's, misspellings included.
    macro_rules! source {
        ($field:ident, $more:literal, $at:literal, |$s:ident, $p:ident| $check:expr) => {
            if let Some($s) = &volume.$field {
                given += 1;
                if given > 1 {
                    let why = "may not specify more than 1 volume type";
                    found.forbidden(&path.child($more), why);
                } else {
                    let $p = &path.child($at);
                    $check
                }
            }
        };
        ($field:ident, $at:literal, |$s:ident, $p:ident| $check:expr) => {
            source!($field, $at, $at, |$s, $p| $check);
        };
    }
    source!(host_path, "hostPath", |s, p| sources::host_path(s, p, found));
    source!(git_repo, "gitRepo", |s, p| sources::git_repo(s, p, found));
    source!(gce_persistent_disk, "gcePersistentDisk", "persistentDisk", |s, p| {
        sources::disk(&s.pd_name, "pdName", s.partition, p, found);
    });
    source!(aws_elastic_block_store, "awsElasticBlockStore", |s, p| {
        sources::disk(&s.volume_id, "volumeID", s.partition, p, found);
    });
    source!(secret, "secret", |s, p| sources::secret(s, p, found));
    source!(nfs, "nfs", |s, p| sources::nfs(s, p, found));
    source!(iscsi, "iscsi", |s, p| sources::iscsi(s, p, found));
    if let Some(iscsi) = &volume.iscsi
        && iscsi.initiator_name.is_some()
        && volume.name.len() + 1 + iscsi.target_portal.len() > 64
    {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters \
                   if iscsi.initiatorName is specified.";
        found.invalid(&path.child("name"), &volume.name, why);
    }
    source!(glusterfs, "glusterfs", |s, p| {
        sources::all_required(&[("endpoints", &s.endpoints), ("path", &s.path)], p, found);
    });
    source!(flocker, "flocker", |s, p| sources::flocker(s, p, found));
    source!(persistent_volume_claim, "persistentVolumeClaim", |s, p| {
        sources::all_required(&[("claimName", &s.claim_name)], p, found);
    });
    source!(rbd, "rbd", |s, p| {
        sources::monitors(&s.monitors, p, found);
        sources::all_required(&[("image", &s.image)], p, found);
    });
    source!(cinder, "cinder", |s, p| {
        sources::all_required(&[("volumeID", &s.volume_id)], p, found);
        sources::secret_ref(s.secret_ref.as_ref(), p, found);
    });
    source!(cephfs, "cephFS", "cephfs", |s, p| sources::monitors(&s.monitors, p, found));
    source!(quobyte, "quobyte", |s, p| sources::quobyte(s, p, found));
    source!(downward_api, "downwarAPI", "downwardAPI", |s, p| {
        sources::downward_api(s, p, found);
    });
    source!(fc, "fc", |s, p| sources::fc(s, p, found));
    source!(flex_volume, "flexVolume", |s, p| sources::flex_volume(s, p, found));
    source!(config_map, "configMap", |s, p| sources::config_map(s, p, found));
    source!(azure_file, "azureFile", |s, p| {
        sources::all_required(
            &[("secretName", &s.secret_name), ("shareName", &s.share_name)],
            p,
            found,
        );
    });
    source!(vsphere_volume, "vsphereVolume", |s, p| {
        sources::all_required(&[("volumePath", &s.volume_path)], p, found);
    });
    source!(photon_persistent_disk, "photonPersistentDisk", |s, p| {
        sources::all_required(&[("pdID", &s.pd_id)], p, found);
    });
    source!(portworx_volume, "portworxVolume", |s, p| {
        sources::all_required(&[("volumeID", &s.volume_id)], p, found);
    });
    source!(azure_disk, "azureDisk", |s, p| sources::azure_disk(s, p, found));
    source!(storageos, "storageos", |s, p| sources::storage_os(s, p, found));
    source!(projected, "projected", |s, p| projected::validate(s, opts, p, found));
    source!(scale_io, "scaleIO", |s, p| {
        let volume = s.volume_name.as_deref().unwrap_or_default();
        sources::all_required(
            &[("gateway", &s.gateway), ("system", &s.system), ("volumeName", volume)],
            p,
            found,
        );
    });
    source!(csi, "csi", |s, p| sources::csi(s, opts, p, found));
    source!(ephemeral, "ephemeral", |s, p| ephemeral::validate(s, opts, p, found));
    source!(image, "image", |s, p| {
        // `validateImageVolumeSource`: before 1.37, the reference may be missing in a template.
        if opts.image_reference_required && text(&s.reference).is_empty() {
            found.required(&p.child("reference"), "");
        }
        pull_policy(text(&s.pull_policy), &p.child("pullPolicy"), found);
    });
    if given == 0 {
        found.required(path, "must specify a volume type");
    }
}
