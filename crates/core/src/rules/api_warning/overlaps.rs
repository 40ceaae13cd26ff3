//! Files of one volume whose paths overlap: `warningsForOverlappingVirtualPaths`.

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, KeyToPath, VolumeProjection};

use super::{Harm, say};
use crate::kubernetes::cluster::since;
use crate::rules::prelude::*;

const LOST: Harm = Some("one of the two is lost, or the pods never start: give each its own path");

/// The path of a file in a volume, and its source unless the volume has only one.
type File<'a> = (&'a str, String);

pub(super) fn warn(volume: &Volume, path: &Path<'_>, cluster: &Cluster, found: &mut Findings) {
    let single = |files: Vec<File<'_>>, what: String, found: &mut Findings| {
        overlaps(&files, &mut BTreeMap::new(), (&volume.name, &what), LOST, path, found);
    };
    if let Some(it) = &volume.config_map {
        single(keys(&it.items, ""), of("ConfigMap", &it.name), found);
    }
    if let Some(it) = &volume.secret {
        single(keys(&it.items, ""), of("Secret", text(&it.secret_name)), found);
    }
    if let Some(it) = &volume.downward_api {
        single(fields(&it.items, ""), "DownwardAPI".to_owned(), found);
    }
    let (mut seen, mut last) = (BTreeMap::new(), Vec::new());
    for source in volume.projected.iter().flat_map(|it| list(&it.sources)) {
        if *source == VolumeProjection::default() {
            let text =
                format!("volume {} (Projected) has no sources provided", Value::Str(&volume.name));
            say(path, text, None, found);
            continue;
        }
        let (mut files, mut harm) = (of_source(source), LOST);
        if files.is_empty() && !cluster.has(since::NO_FILES_TWICE) {
            (files, harm) = (last, None);
        }
        overlaps(&files, &mut seen, (&volume.name, "Projected"), harm, path, found);
        last = files;
    }
}

fn of(kind: &str, name: &str) -> String {
    format!("{kind} {}", Value::Str(name))
}

fn keys<'a>(items: &'a Option<Vec<KeyToPath>>, source: &str) -> Vec<File<'a>> {
    list(items).iter().map(|it| (it.path.as_str(), source.to_owned())).collect()
}

fn fields<'a>(items: &'a Option<Vec<DownwardAPIVolumeFile>>, source: &str) -> Vec<File<'a>> {
    list(items).iter().map(|it| (it.path.as_str(), source.to_owned())).collect()
}

fn of_source(source: &VolumeProjection) -> Vec<File<'_>> {
    if let Some(it) = source.config_map.as_ref().filter(|it| it.items.is_some()) {
        return keys(&it.items, &of("ConfigMap", &it.name));
    }
    if let Some(it) = source.secret.as_ref().filter(|it| it.items.is_some()) {
        return keys(&it.items, &of("Secret", &it.name));
    }
    if let Some(it) = source.downward_api.as_ref().filter(|it| it.items.is_some()) {
        return fields(&it.items, "DownwardAPI");
    }
    if let Some(it) = &source.service_account_token {
        return vec![(it.path.as_str(), "ServiceAccountToken".to_owned())];
    }
    if let Some(it) = &source.cluster_trust_bundle {
        let name = it.name.as_deref().unwrap_or(text(&it.signer_name));
        return vec![(it.path.as_str(), of("ClusterTrustBundle", name))];
    }
    let Some(it) = &source.pod_certificate else { return Vec::new() };
    let files = [
        (text(&it.certificate_chain_path), "PodCertificate chain"),
        (text(&it.key_path), "PodCertificate key"),
        (text(&it.credential_bundle_path), "PodCertificate credential bundle"),
    ];
    let given = files.into_iter().filter(|(path, _)| !path.is_empty());
    given.map(|(path, source)| (path, source.to_owned())).collect()
}

/// Follows `checkForOverlap`, but looks up earlier paths in a map, so that the time stays linear.
fn overlaps<'a>(
    files: &[File<'a>],
    seen: &mut BTreeMap<&'a str, Vec<String>>,
    (volume, what): (&str, &str),
    harm: Harm,
    path: &Path<'_>,
    found: &mut Findings,
) {
    for (file, source) in files {
        let file = file.trim_end_matches('/');
        if file.is_empty() {
            continue;
        }
        let shown = |path: &str, source: &str| match source {
            "" => Value::Str(path).to_string(),
            _ => format!("{} ({source})", Value::Str(path)),
        };
        let folder = format!("{file}/");
        let above = file.match_indices('/').filter_map(|(at, _)| file.get(..at));
        let above = above.filter_map(|it| seen.get_key_value(it));
        let below = seen.range(folder.as_str()..).take_while(|(it, _)| it.starts_with(&folder));
        for (other, sources) in above.chain(seen.get_key_value(file)).chain(below) {
            for other_source in sources {
                if !found.has_room() {
                    return;
                }
                let pair = [shown(file, source), shown(other, other_source)].join(" with ");
                let text =
                    format!("volume {} ({what}): overlapping paths: {pair}", Value::Str(volume));
                say(path, text, harm, found);
            }
        }
        seen.entry(file).or_default().push(source.clone());
    }
}
