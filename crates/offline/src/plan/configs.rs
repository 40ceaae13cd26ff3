//! ConfigMaps and Secrets that change while a set that uses them keeps its template.

use std::cell::OnceCell;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use k8s_openapi::api::core::v1::{Container, PodSpec};
use setguard_core::kubernetes::config_references::visit_config_references;

use crate::prelude::*;

/// Kind, namespace and name.
type Name = (&'static str, String, String);

type Entries = Option<BTreeMap<String, Value>>;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    metadata: Metadata,
    data: Entries,
    binary_data: Entries,
    string_data: Entries,
    immutable: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
}

impl Data {
    /// Returns the entries in the form that the API server stores: `stringData` becomes `data`.
    fn stored(&self) -> BTreeMap<&str, String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let stored = self.data.iter().chain(&self.binary_data).flatten();
        let stored = stored.map(|(key, value)| (key.as_str(), text(value)));
        let plain = self.string_data.iter().flatten();
        stored.chain(plain.map(|(key, it)| (key.as_str(), STANDARD.encode(text(it))))).collect()
    }

    fn changed(&self, new: &Data) -> BTreeSet<String> {
        let (old, new) = (self.stored(), new.stored());
        let keys = old.keys().chain(new.keys());
        keys.filter(|key| old.get(*key) != new.get(*key)).map(|key| (*key).to_owned()).collect()
    }
}

/// The ConfigMaps and Secrets of the manifests, before and after. Never prints their values.
#[derive(Debug, Default)]
pub(super) struct Configs {
    old: HashMap<Name, Data>,
    new: HashMap<Name, Data>,
    /// Whether an old one is immutable.
    pub(super) had_immutable: bool,
    /// The changed keys, computed on first use.
    changes: OnceCell<HashMap<Name, BTreeSet<String>>>,
}

#[derive(Clone, Copy)]
enum Use {
    /// When a container starts: a variable, or a file mounted with `subPath`.
    AtStart,
    /// From mounted files. The kubelet updates these.
    Mounted,
    /// When the image of a database creates its first data.
    Once,
}

/// The effect of a changed object on pods, for each use.
const EFFECTS: [&str; 3] = [
    "containers read it when they start, so each pod keeps the old values until it is made again",
    "the kubelet writes the mounted files again within about two minutes, and a program that reads them only once keeps \
     the old values",
    "the image runs these scripts only with an empty data directory, so an existing database stays as it is",
];

impl Configs {
    pub(super) fn add(
        &mut self,
        kind: &str,
        json: &str,
        namespace: Option<&str>,
        is_new: bool,
    ) -> Result<(), serde_json::Error> {
        let Some(kind) = ["ConfigMap", "Secret"].into_iter().find(|it| *it == kind) else {
            return Ok(());
        };
        let data: Data = serde_json::from_str(json)?;
        let namespace = data.metadata.namespace.as_deref().or(namespace);
        let name = (kind, namespace_or_default(namespace).to_owned(), data.metadata.name.clone());
        self.had_immutable |= !is_new && data.immutable == Some(true);
        if is_new { &mut self.new } else { &mut self.old }.insert(name, data);
        Ok(())
    }

    /// Returns a note for each changed object that pods with this unchanged spec use.
    pub(super) fn notes(&self, namespace: &str, pod: &PodSpec) -> Vec<String> {
        // The changed keys of an object, for each use.
        let readings = readings(pod);
        let mut read = BTreeMap::<(&'static str, &str), [BTreeSet<&str>; 3]>::new();
        for (kind, name, how, key) in &readings {
            let Some(keys) = self.change(kind, namespace, name) else { continue };
            let changed = keys.iter().map(String::as_str);
            let own = changed.filter(|it| key.as_ref().is_none_or(|key| key == it));
            read.entry((*kind, name)).or_default()[*how as usize].extend(own);
        }
        let note = |((kind, name), uses): (_, [BTreeSet<&str>; 3])| {
            let mut uses = uses.iter().zip(EFFECTS);
            let (keys, effect) = uses.find(|(keys, _)| !keys.is_empty())?;
            let list = keys.iter().copied().collect::<Vec<_>>().join(", ");
            Some(format!("{kind} {name} changes ({list}) and no pod is replaced: {effect}"))
        };
        read.into_iter().filter_map(note).collect()
    }

    fn change(&self, kind: &'static str, namespace: &str, name: &str) -> Option<&BTreeSet<String>> {
        let changes = self.changes.get_or_init(|| {
            // The API server refuses to change an immutable one.
            let old = self.old.iter().filter(|(_, old)| old.immutable != Some(true));
            let changes =
                old.filter_map(|(id, old)| Some((id.clone(), old.changed(self.new.get(id)?))));
            changes.filter(|(_, keys)| !keys.is_empty()).collect()
        });
        changes.get(&(kind, namespace.to_owned(), name.to_owned()))
    }
}

/// The kind and the name of a ConfigMap or Secret, how the pod reads it, and the key, if it reads only one.
type Reading = (&'static str, String, Use, Option<String>);

fn readings(pod: &PodSpec) -> Vec<Reading> {
    let mut all = Vec::new();
    visit_config_references(pod, &mut |it, _| {
        let kind = if it.kind == Kind::Secret { "Secret" } else { "ConfigMap" };
        let mut add =
            |how| all.push((kind, it.name.to_owned(), how, it.key.map(ToOwned::to_owned)));
        match it.volume {
            None => add(Use::AtStart),
            Some(volume) => {
                let containers = pod.init_containers.iter().flatten().chain(&pod.containers);
                containers.flat_map(|it| mounts(it, &volume.name)).for_each(add);
            }
        }
    });
    all
}

/// Returns how a container reads a volume, for each of its mounts.
fn mounts(container: &Container, volume: &str) -> impl Iterator<Item = Use> {
    let mounts = container.volume_mounts.iter().flatten().filter(move |it| it.name == volume);
    mounts.map(|it| match (&it.sub_path, &it.sub_path_expr) {
        _ if it.mount_path.starts_with("/docker-entrypoint-initdb.d") => Use::Once,
        (None, None) => Use::Mounted,
        _ => Use::AtStart,
    })
}
