//! The ConfigMaps and Secrets that a pod reads.

use k8s_openapi::api::core::v1::{Container, KeyToPath, PodSpec, Volume};

use super::{
    absent::{list, text},
    containers::visit,
    kind::Kind,
};
use crate::finding::{Path, paths::POD_SPEC};

/// A ConfigMap or Secret that a pod of a template reads.
#[derive(Clone, Copy, Debug)]
pub struct ConfigReference<'a> {
    /// ConfigMap or Secret.
    pub kind: Kind,
    /// The name of the object.
    pub name: &'a str,
    /// The key that is read, unless all are.
    pub key: Option<&'a str>,
    /// The container starts without the object or key.
    pub is_optional: bool,
    /// The volume that holds it, or `None` for a variable.
    pub volume: Option<&'a Volume>,
}

type Visitor<'v> = dyn FnMut(&ConfigReference<'_>, &Path<'_>) + 'v;

/// Calls `visitor` with each reference and the path to its name or key; for a whole volume, the path to its source.
pub fn visit_config_references(pod: &PodSpec, visitor: &mut Visitor<'_>) {
    visit(pod, &POD_SPEC, &mut |container, path| of_container(container, path, visitor));
    for (i, volume) in list(&pod.volumes).iter().enumerate() {
        of_volume(volume, &POD_SPEC.item("volumes", i), visitor);
    }
}

fn of_container(container: &Container, path: &Path<'_>, visitor: &mut Visitor<'_>) {
    let mut add = |kind, name: &str, key, optional, path: &Path<'_>| {
        let is_optional = optional == Some(true);
        let reference = ConfigReference { kind, name, key, is_optional, volume: None };
        visitor(&reference, &path.child(if key.is_some() { "key" } else { "name" }));
    };
    let at = path.child("envFrom");
    for (source, path) in at.items(list(&container.env_from)) {
        if let Some(it) = &source.config_map_ref {
            add(Kind::ConfigMap, &it.name, None, it.optional, &path.child("configMapRef"));
        }
        if let Some(it) = &source.secret_ref {
            add(Kind::Secret, &it.name, None, it.optional, &path.child("secretRef"));
        }
    }
    let at = path.child("env");
    for (variable, path) in at.items(list(&container.env)) {
        let Some(source) = &variable.value_from else { continue };
        let path = path.child("valueFrom");
        if let Some(it) = &source.config_map_key_ref {
            let path = path.child("configMapKeyRef");
            add(Kind::ConfigMap, &it.name, Some(it.key.as_str()), it.optional, &path);
        }
        if let Some(it) = &source.secret_key_ref {
            let path = path.child("secretKeyRef");
            add(Kind::Secret, &it.name, Some(it.key.as_str()), it.optional, &path);
        }
    }
}

fn of_volume(volume: &Volume, path: &Path<'_>, visitor: &mut Visitor<'_>) {
    let mut add = |kind, name, items: &Option<Vec<KeyToPath>>, optional, path: &Path<'_>| {
        let (is_optional, volume) = (optional == Some(true), Some(volume));
        let whole = ConfigReference { kind, name, key: None, is_optional, volume };
        let items = list(items);
        if items.is_empty() {
            visitor(&whole, path);
        }
        for (i, item) in items.iter().enumerate() {
            let one = ConfigReference { key: Some(&item.key), ..whole };
            visitor(&one, &path.item("items", i).child("key"));
        }
    };
    if let Some(it) = &volume.config_map {
        add(Kind::ConfigMap, &it.name, &it.items, it.optional, &path.child("configMap"));
    }
    if let Some(it) = &volume.secret {
        add(Kind::Secret, text(&it.secret_name), &it.items, it.optional, &path.child("secret"));
    }
    let at = path.below("projected.sources");
    let sources = volume.projected.iter().flat_map(|it| list(&it.sources));
    for (source, path) in at.items(sources) {
        if let Some(it) = &source.config_map {
            add(Kind::ConfigMap, &it.name, &it.items, it.optional, &path.child("configMap"));
        }
        if let Some(it) = &source.secret {
            add(Kind::Secret, &it.name, &it.items, it.optional, &path.child("secret"));
        }
    }
}
