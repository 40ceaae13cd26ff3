use super::volume_sources;
use crate::validation::prelude::*;

/// The valid volumes that mounts and devices may refer to.
#[derive(Debug, Default)]
pub(crate) struct Volumes<'a> {
    /// Sorted by name.
    known: Vec<Known<'a>>,
}

#[derive(Debug)]
pub(crate) struct Known<'a> {
    name: &'a str,
    pub(crate) is_claim: bool,
    pub(crate) is_image: bool,
}

impl Volumes<'_> {
    pub(crate) fn find(&self, name: &str) -> Option<&Known<'_>> {
        let at = self.known.binary_search_by(|known| known.name.cmp(name)).ok()?;
        self.known.get(at)
    }
}

/// Follows `ValidateVolumes`. A StatefulSet's claim templates come first and replace volumes of the same name, as in
/// `ValidateStatefulSetSpec` (`pkg/apis/apps/validation`).
pub(crate) fn validate<'a>(
    volumes: &'a [Volume],
    claims: &[&'a str],
    opts: &Options,
    path: &At<'_>,
) -> Volumes<'a> {
    let mut known = Vec::with_capacity(volumes.len() + claims.len());
    let (mut seen, mut of_claims) = (Seen::new(), Seen::new());
    let mut i = 0;
    for &name in claims {
        if !of_claims.insert(name) {
            continue;
        }
        let path = path.index(i);
        let before = path.count();
        if name.is_empty() {
            path.below("persistentVolumeClaim.claimName").required("");
        }
        filled(name, names::dns1123_label, &path.child("name"));
        if path.count() == before {
            seen.insert(name);
            known.push(Known { name, is_claim: true, is_image: false });
        }
        i += 1;
    }
    for volume in volumes.iter().filter(|volume| !of_claims.contains(volume.name.as_str())) {
        let path = path.index(i);
        let before = path.count();
        volume_sources::validate(volume, opts, &path);
        filled(&volume.name, names::dns1123_label, &path.child("name"));
        if seen.contains(volume.name.as_str()) {
            path.child("name").duplicate(&volume.name);
        }
        if path.count() == before {
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
