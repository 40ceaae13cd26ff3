//! ConfigMaps and Secrets that change while the template of a set that uses them does not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use k8s_openapi::api::core::v1::{Container, KeyToPath, PodSpec};
use serde::Deserialize;
use serde_json::Value;
use setguard_core::object::namespace_or_default;

/// Kind, namespace and name.
type Name = (&'static str, String, String);

type Entries = Option<BTreeMap<String, Value>>;

/// The data of a ConfigMap or a Secret.
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
    /// Returns the entries as the API server stores them, which makes data of `stringData`.
    fn stored(&self) -> BTreeMap<&str, String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let stored = self.data.iter().chain(&self.binary_data).flatten();
        let stored = stored.map(|(key, value)| (key.as_str(), text(value)));
        let plain = self.string_data.iter().flatten();
        stored.chain(plain.map(|(key, it)| (key.as_str(), STANDARD.encode(text(it))))).collect()
    }

    /// Returns the keys whose values differ.
    fn changed(&self, new: &Data) -> BTreeSet<String> {
        let (old, new) = (self.stored(), new.stored());
        let keys = old.keys().chain(new.keys());
        keys.filter(|key| old.get(*key) != new.get(*key)).map(|key| (*key).to_owned()).collect()
    }
}

/// The ConfigMaps and Secrets of the manifests, before and after. Their values are compared and never printed.
#[derive(Debug, Default)]
pub(super) struct Configs {
    old: HashMap<Name, Data>,
    new: HashMap<Name, Data>,
}

/// How a pod reads a ConfigMap or a Secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// When a container starts: a variable, or a file mounted by subPath.
    AtStart,
    /// From mounted files, which the kubelet writes again.
    Mounted,
}

impl Configs {
    /// Adds an object if it is a ConfigMap or a Secret.
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
        if is_new { &mut self.new } else { &mut self.old }.insert(name, data);
        Ok(())
    }

    /// Returns a note for each object that changes, and that pods with this unchanged spec use.
    pub(super) fn notes(&self, namespace: &str, pod: &PodSpec) -> Vec<String> {
        let mut uses = BTreeMap::<(&'static str, &str), Vec<(Use, BTreeSet<String>)>>::new();
        let mut changed = HashMap::new();
        visit(pod, &mut |kind, name, how, keys| {
            let all =
                changed.entry((kind, name)).or_insert_with(|| self.changed(kind, namespace, name));
            let hit = all.iter().filter(|key| keys.is_none_or(|keys| keys.contains(&key.as_str())));
            let hit: BTreeSet<_> = hit.cloned().collect();
            if !hit.is_empty() {
                uses.entry((kind, name)).or_default().push((how, hit));
            }
        });
        let note = |((kind, name), uses): ((&'static str, &str), Vec<(Use, BTreeSet<String>)>)| {
            let keys = |how| -> Vec<String> {
                let of_kind = uses.iter().filter(|(it, _)| *it == how);
                let keys: BTreeSet<_> = of_kind.flat_map(|(_, keys)| keys.clone()).collect();
                keys.into_iter().collect()
            };
            let id = (kind, namespace.to_owned(), name.to_owned());
            if self.old.get(&id).is_some_and(|it| it.immutable == Some(true)) {
                return format!(
                    "{kind} {name} is immutable, so the API server refuses its change; give it another name, and use \
                     that name in the template"
                );
            }
            let at_start = keys(Use::AtStart);
            if at_start.is_empty() {
                let keys = keys(Use::Mounted).join(", ");
                return format!(
                    "{kind} {name} changes ({keys}) and no pod is replaced: the kubelet writes the mounted files \
                     again within about two minutes, and a program that reads them only once keeps the old values"
                );
            }
            format!(
                "{kind} {name} changes ({}) and no pod is replaced: containers read it when they start, so each pod \
                 keeps the old values until it is made again",
                at_start.join(", ")
            )
        };
        uses.into_iter().map(note).collect()
    }

    fn changed(&self, kind: &'static str, namespace: &str, name: &str) -> BTreeSet<String> {
        let id = (kind, namespace.to_owned(), name.to_owned());
        let both = self.old.get(&id).zip(self.new.get(&id));
        both.map(|(old, new)| old.changed(new)).unwrap_or_default()
    }
}

/// Calls `see` with each use of a ConfigMap or Secret: its kind and name, how it is read, and the keys that are read
/// (`None` for all).
fn visit<'a>(pod: &'a PodSpec, see: &mut dyn FnMut(&'static str, &'a str, Use, Option<&[&str]>)) {
    let containers = || pod.init_containers.iter().flatten().chain(&pod.containers);
    for container in containers() {
        for source in container.env_from.iter().flatten() {
            if let Some(it) = &source.config_map_ref {
                see("ConfigMap", &it.name, Use::AtStart, None);
            }
            if let Some(it) = &source.secret_ref {
                see("Secret", &it.name, Use::AtStart, None);
            }
        }
        for source in container.env.iter().flatten().filter_map(|it| it.value_from.as_ref()) {
            if let Some(it) = &source.config_map_key_ref {
                see("ConfigMap", &it.name, Use::AtStart, Some(&[&it.key]));
            }
            if let Some(it) = &source.secret_key_ref {
                see("Secret", &it.name, Use::AtStart, Some(&[&it.key]));
            }
        }
    }
    for volume in pod.volumes.iter().flatten() {
        let mut see = |kind, name: &'a str, items: Option<&'a [KeyToPath]>| {
            let keys: Option<Vec<&str>> = items
                .filter(|it| !it.is_empty())
                .map(|items| items.iter().map(|it| it.key.as_str()).collect());
            for how in containers().flat_map(|it| mounts(it, &volume.name)) {
                see(kind, name, how, keys.as_deref());
            }
        };
        if let Some(it) = &volume.config_map {
            see("ConfigMap", &it.name, it.items.as_deref());
        }
        if let Some(it) = &volume.secret {
            see("Secret", it.secret_name.as_deref().unwrap_or_default(), it.items.as_deref());
        }
        let projected = volume.projected.iter().flat_map(|it| it.sources.iter().flatten());
        for source in projected {
            if let Some(it) = &source.config_map {
                see("ConfigMap", &it.name, it.items.as_deref());
            }
            if let Some(it) = &source.secret {
                see("Secret", &it.name, it.items.as_deref());
            }
        }
    }
}

/// Returns how a container reads a volume, for each of its mounts.
fn mounts(container: &Container, volume: &str) -> impl Iterator<Item = Use> {
    let mounts = container.volume_mounts.iter().flatten().filter(move |it| it.name == volume);
    mounts.map(|it| match (&it.sub_path, &it.sub_path_expr) {
        (None, None) => Use::Mounted,
        _ => Use::AtStart,
    })
}
