//! ConfigMaps and Secrets: the keys that they have, and the keys that pods read.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, KeyToPath, PodSpec, Volume};
use serde::{Deserialize, de::IgnoredAny};

use super::{hosts, labels::ALLOCATION};
use crate::{
    finding::{Field, Path, paths::POD_SPEC},
    kubernetes::{
        absent::{list, text},
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
}

/// Collects the uses of a pod, except optional ones.
struct Uses(Vec<Use>);

impl Use {
    pub(super) fn all(pod: &PodSpec) -> Box<[Self]> {
        let mut uses = Uses(Vec::new());
        visit(pod, &POD_SPEC, &mut |container, path| {
            uses.of_env(container, path);
            uses.of_mounts(container, list(&pod.volumes), path);
        });
        let path = POD_SPEC.child("volumes");
        for (i, volume) in list(&pod.volumes).iter().enumerate() {
            uses.of_volume(volume, &path.index(i));
        }
        uses.0.into()
    }
}

impl Uses {
    fn add(&mut self, kind: Kind, name: &str, key: Option<&str>, how: How, path: &Path<'_>) {
        let (key, field) = (key.map(Into::into), path.to_field());
        self.0.push(Use { kind, name: name.into(), key, how, field });
    }

    fn of_env(&mut self, container: &Container, path: &Path<'_>) {
        let at = path.child("envFrom");
        for (i, source) in list(&container.env_from).iter().enumerate() {
            let path = at.index(i);
            if let Some(it) = source.config_map_ref.as_ref().filter(|it| it.optional != Some(true))
            {
                let path = path.child("configMapRef");
                self.add(Kind::ConfigMap, &it.name, None, How::Env, &path.child("name"));
            }
            if let Some(it) = source.secret_ref.as_ref().filter(|it| it.optional != Some(true)) {
                let path = path.child("secretRef");
                self.add(Kind::Secret, &it.name, None, How::Env, &path.child("name"));
            }
        }
        let at = path.child("env");
        for (i, variable) in list(&container.env).iter().enumerate() {
            let Some(source) = &variable.value_from else { continue };
            let path = at.index(i);
            let path = path.child("valueFrom");
            let wanted = |optional: Option<bool>| optional != Some(true);
            if let Some(it) = source.config_map_key_ref.as_ref().filter(|it| wanted(it.optional)) {
                let path = path.child("configMapKeyRef");
                self.add(Kind::ConfigMap, &it.name, Some(&it.key), How::Env, &path.child("key"));
            }
            if let Some(it) = source.secret_key_ref.as_ref().filter(|it| wanted(it.optional)) {
                let path = path.child("secretKeyRef");
                self.add(Kind::Secret, &it.name, Some(&it.key), How::Env, &path.child("key"));
            }
        }
    }

    fn of_volume(&mut self, volume: &Volume, path: &Path<'_>) {
        each_source(volume, path, &mut |Source { kind, name, items }, path| {
            if items.is_empty() {
                self.add(*kind, name, None, How::Volume, path);
            }
            let at = path.child("items");
            for (i, item) in items.iter().enumerate() {
                let path = at.index(i);
                self.add(*kind, name, Some(&item.key), How::Volume, &path.child("key"));
            }
        });
    }

    /// Adds the files that a container mounts alone, of volumes with all keys of one object.
    fn of_mounts(&mut self, container: &Container, volumes: &[Volume], path: &Path<'_>) {
        let at = path.child("volumeMounts");
        for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
            let file = text(&mount.sub_path).trim_start_matches("./").trim_end_matches('/');
            let volume = volumes.iter().find(|it| it.name == mount.name);
            let volume = volume.filter(|it| it.projected.is_none());
            // The directories of the kubelet begin so.
            if file.is_empty() || file.starts_with('.') {
                continue;
            }
            let path = at.index(i);
            if let Some(volume) = volume {
                each_source(volume, &POD_SPEC, &mut |Source { kind, name, items }, _| {
                    if items.is_empty() {
                        self.add(*kind, name, Some(file), How::SubPath, &path.child("subPath"));
                    }
                });
            }
        }
    }
}

/// A ConfigMap or Secret of a volume.
struct Source<'a> {
    kind: Kind,
    name: &'a str,
    items: &'a [KeyToPath],
}

/// Calls `act` with each ConfigMap and Secret that a volume needs.
fn each_source(volume: &Volume, path: &Path<'_>, act: &mut dyn FnMut(&Source<'_>, &Path<'_>)) {
    let mut add = |kind, name, items, optional, path: &Path<'_>| {
        if optional != Some(true) {
            act(&Source { kind, name, items: list(items) }, path);
        }
    };
    if let Some(it) = &volume.config_map {
        add(Kind::ConfigMap, &it.name, &it.items, it.optional, &path.child("configMap"));
    }
    if let Some(it) = &volume.secret {
        add(Kind::Secret, text(&it.secret_name), &it.items, it.optional, &path.child("secret"));
    }
    let at = path.child("projected");
    let at = at.child("sources");
    let sources = volume.projected.iter().flat_map(|it| list(&it.sources));
    for (i, source) in sources.enumerate() {
        let path = at.index(i);
        if let Some(it) = &source.config_map {
            add(Kind::ConfigMap, &it.name, &it.items, it.optional, &path.child("configMap"));
        }
        if let Some(it) = &source.secret {
            add(Kind::Secret, &it.name, &it.items, it.optional, &path.child("secret"));
        }
    }
}
