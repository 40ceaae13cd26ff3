//! ConfigMaps and Secrets: the keys that they have, and the keys that pods read.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, PodSpec, VolumeMount};
use serde::{Deserialize, de::IgnoredAny};

use super::{hosts, labels::ALLOCATION};
use crate::{
    finding::{Field, Path, paths::POD_SPEC},
    kubernetes::{
        absent::{list, text},
        config_references::visit_config_references,
        containers::visit,
        kind::Kind,
    },
};

/// A ConfigMap or Secret. Values are never kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// `None` if others may add keys.
    pub(super) keys: Option<BTreeSet<Box<str>>>,
    /// The names of hosts in a ConfigMap, each with its key.
    pub(super) hosts: Box<[(Box<str>, Box<str>)]>,
}

/// The type of a Secret to which a controller of Kubernetes adds a token.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// Parts of the labels and annotations by which a program is asked to add keys.
const ADDED_BY: [&str; 5] = ["autogenerate", "inject", "reflect", "replicat", "service-account"];

type Entries = Option<BTreeMap<Box<str>, IgnoredAny>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    metadata: Marks,
    #[serde(rename = "type", default)]
    type_: Option<String>,
    #[serde(default)]
    data: Entries,
    #[serde(default)]
    binary_data: Entries,
    #[serde(default)]
    string_data: Entries,
}

#[derive(Deserialize)]
struct Marks {
    #[serde(default)]
    labels: Entries,
    #[serde(default)]
    annotations: Entries,
}

impl Config {
    pub(super) fn read(kind: Kind, json: &str) -> Option<Self> {
        let hosts = match kind {
            Kind::ConfigMap => hosts::of_config_map(json),
            _ => Box::default(),
        };
        let Raw { metadata, type_, data, binary_data, string_data } =
            serde_json::from_str(json).ok()?;
        let marks = [metadata.labels, metadata.annotations];
        let mut marks = marks.iter().flatten().flat_map(BTreeMap::keys);
        let is_open = type_.as_deref() == Some(TOKEN)
            || marks.any(|mark| ADDED_BY.iter().any(|part| mark.contains(part)));
        let maps = [data, binary_data, string_data].into_iter().flatten();
        let keys: BTreeSet<_> = maps.flat_map(BTreeMap::into_keys).collect();
        // An object without data is there to be filled.
        let keys = Some(keys).filter(|keys| !is_open && !keys.is_empty());
        Some(Config { keys, hosts })
    }

    pub(super) fn bytes(&self) -> usize {
        let keys = self.keys.iter().flatten().map(|key| key.len() + 2 * ALLOCATION);
        let hosts = self.hosts.iter().map(|it| it.0.len() + it.1.len() + 4 * ALLOCATION);
        keys.chain(hosts).sum()
    }
}

/// A ConfigMap or Secret that a pod cannot do without.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) kind: Kind,
    pub(crate) name: Box<str>,
    /// The key that is read, unless all are.
    pub(crate) key: Option<Box<str>>,
    pub(crate) how: How,
    pub(crate) field: Field,
}

/// How a pod reads a ConfigMap or Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As variables.
    Env,
    /// As files of a volume.
    Volume,
    /// As one file or directory of a volume.
    SubPath,
    /// As one file of a volume, named in an argument.
    Argument,
}

impl Use {
    /// Returns the uses of a pod, except optional ones.
    pub(super) fn all(pod: &PodSpec) -> Box<[Self]> {
        let mut uses = Vec::new();
        let mut volumes = Vec::new();
        visit_config_references(pod, &mut |it, path| {
            if it.is_optional {
                return;
            }
            let how = if it.volume.is_some() { How::Volume } else { How::Env };
            let (name, key): (Box<str>, _) = (it.name.into(), it.key.map(Into::into));
            if let Some(volume) = it.volume.filter(|it| it.projected.is_none() && key.is_none()) {
                volumes.push((volume.name.clone(), it.kind, name.clone()));
            }
            uses.push(Use { kind: it.kind, name, key, how, field: path.to_field() });
        });
        visit(pod, &POD_SPEC, &mut |container, path| {
            of_mounts(container, &volumes, path, &mut uses);
            of_arguments(container, &volumes, path, &mut uses);
        });
        uses.into()
    }
}

/// Adds the files that a container mounts alone, of volumes with all keys of one object.
fn of_mounts(
    container: &Container,
    volumes: &[(String, Kind, Box<str>)],
    path: &Path<'_>,
    uses: &mut Vec<Use>,
) {
    let at = path.child("volumeMounts");
    for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
        let file = text(&mount.sub_path).trim_start_matches("./").trim_end_matches('/');
        // The directories of the kubelet begin so.
        if file.is_empty() || file.starts_with('.') {
            continue;
        }
        let field = at.index(i).child("subPath").to_field();
        if let Some((_, kind, name)) = volumes.iter().find(|it| it.0 == mount.name) {
            let (name, key) = (name.clone(), Some(file.into()));
            uses.push(Use { kind: *kind, name, key, how: How::SubPath, field });
        }
    }
}

/// Adds the files in arguments such as `--config=/etc/agent/agent.yaml`, of volumes with all keys of one object.
fn of_arguments(
    container: &Container,
    volumes: &[(String, Kind, Box<str>)],
    path: &Path<'_>,
    uses: &mut Vec<Use>,
) {
    let mounts = list(&container.volume_mounts);
    for (name, words) in [("command", &container.command), ("args", &container.args)] {
        let at = path.child(name);
        for (i, word) in list(words).iter().enumerate() {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let Some((folder, file)) = value.rsplit_once('/') else { continue };
            let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_file =
                file.contains('.') && !file.starts_with('.') && file.chars().all(is_in_name);
            let is_folder = |it: &&VolumeMount| it.mount_path.trim_end_matches('/') == folder;
            // A mount of the file itself brings another one.
            if !is_file || mounts.iter().any(|it| it.mount_path == value) {
                continue;
            }
            let is_whole = |it: &&VolumeMount| it.sub_path.is_none() && it.sub_path_expr.is_none();
            let Some(mount) = mounts.iter().find(is_folder).filter(is_whole) else { continue };
            if let Some((_, kind, name)) = volumes.iter().find(|it| it.0 == mount.name) {
                let (name, key) = (name.clone(), Some(file.into()));
                let field = at.index(i).to_field();
                uses.push(Use { kind: *kind, name, key, how: How::Argument, field });
            }
        }
    }
}
