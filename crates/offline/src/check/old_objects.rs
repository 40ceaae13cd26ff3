use std::{cell::LazyCell, collections::HashMap, path::Path, sync::OnceLock};

use kube_yaml::Node;
use setguard_core::{
    inventory::{Inventory, object_summary::ObjectSummary},
    kubernetes::version::Version,
    object::{Object, namespace_or_default},
};
pub(super) use setguard_files::error::FileError;
pub(super) use setguard_files::manifests::{
    alternatives::{Alternatives, Files},
    document::{Decoded, Manifest, documents},
    group::Group,
    id::ObjectId,
    namespaces,
    not_a_manifest::Broken,
    source::Source,
};

#[derive(Debug, Default)]
pub(crate) struct OldObjects {
    objects: HashMap<ObjectId, Alternatives<String>>,
    /// The namespaces by kind and name; computed on first use.
    namespaces: OnceLock<HashMap<(String, String), Vec<String>>>,
    /// The objects as summaries, for the cross-object rules.
    pub(crate) inventory: Inventory,
    namespace: Option<String>,
    /// The new files in folders.
    new: Files,
    /// The clusters that the policy assigns to new files, and the groups of rendered output, by name.
    groups: HashMap<String, Group>,
}

impl OldObjects {
    /// Creates an empty collection. `namespace` applies to manifests that set none.
    pub(crate) fn of_namespace(namespace: Option<&str>) -> Self {
        OldObjects { namespace: namespace.map(str::to_owned), ..OldObjects::default() }
    }

    /// Sets the new sources. They determine the file where a folder's object continues.
    pub(crate) fn followed_by(mut self, sources: &[Result<Source, FileError>]) -> Self {
        let new: Vec<_> = sources
            .iter()
            .flatten()
            .filter_map(|it| Some((it.path_in_folder()?, it.group())))
            .collect();
        let assigned = new.iter().filter(|(_, group)| matches!(group, Group::Cluster(_)));
        self.groups =
            assigned.map(|(path, group)| (path.display().to_string(), (*group).clone())).collect();
        let rendered = sources.iter().flatten().filter(|it| it.rendered().is_some());
        self.groups.extend(rendered.map(|it| (it.name().to_owned(), it.group().clone())));
        self.new = new.into_iter().map(|(path, _)| path).collect();
        self
    }

    /// Adds the objects of a source. Returns a message for each unreadable document.
    pub(crate) fn add(&mut self, source: &Source) -> Vec<String> {
        let mut complaints = Vec::new();
        let importance = LazyCell::new(|| Broken::of(source.text(), source.group()));
        for objects in documents(source.text(), source.is_named()) {
            match objects {
                Ok(objects) => {
                    let objects = objects.in_namespace(source.namespace(self.namespace.as_deref()));
                    for node in objects.related() {
                        ObjectSummary::of_json(&node.to_json())
                            .map(|item| self.inventory.add(item));
                    }
                    for manifest in objects.manifests {
                        self.insert(&manifest, source);
                    }
                }
                // A text that a folder skips today was no manifest then either.
                Err(_) if *importance != Broken::Error => {}
                Err(problem) => {
                    let (name, line) = (source.name(), problem.mark.line);
                    complaints.push(format!("{name}:{line}: {}", problem.message));
                }
            }
        }
        complaints
    }

    fn insert(&mut self, manifest: &Manifest<'_>, source: &Source) {
        // A cluster never has a patch as an object.
        if manifest.is_partial() {
            return;
        }
        if let Some(Decoded { resource, json, .. }) = manifest.decode(Version::NEWEST) {
            if let Ok(object) = Object::parse(resource, &json) {
                let template = object.template();
                let mut item =
                    ObjectSummary::of(&object).with_refusals(template).with_template(template);
                item.set_location(source.name().into(), manifest.node.mark.line);
                self.inventory.add(item);
            }
            let alternatives = self.objects.entry(ObjectId::of(&manifest.node)).or_default();
            alternatives.add_from(source, json);
        }
    }

    /// Returns the previous state of a file's object, as JSON, after the name of its source. `None` if the object is
    /// new; a generated name always makes it new.
    pub(crate) fn before(&self, id: &ObjectId, file: &str) -> Option<(&str, &str)> {
        let alternatives = self.objects.get(id).filter(|_| !id.is_generated)?;
        let has_nearer = |old: &str, place: &str, common: usize| {
            let is_root = matches!(self.groups.get(old), Some(Group::Rendered { .. }));
            let mut near = self.new.at(place).into_iter().chain(self.new.nearer(old, common));
            is_root || near.any(|path| self.has(path, id))
        };
        let group = self.groups.get(file).unwrap_or(&Group::Alone);
        let before = alternatives.continued_by(file, group, &has_nearer);
        before.map(|(old, json)| (old, json.as_str()))
    }

    /// Returns a note if several previous objects have this id, and the object of this file continues none of them.
    pub(crate) fn unclear(&self, id: &ObjectId, file: &str) -> Option<String> {
        let group = self.groups.get(file).unwrap_or(&Group::Alone);
        self.objects.get(id).filter(|_| !id.is_generated)?.unclear(group)
    }

    /// Returns a note if a manifest sets no namespace, and the previous manifests have its name only in a different
    /// namespace.
    pub(crate) fn namesake(&self, new: &ObjectId, manifest: &Node<'_>) -> Option<String> {
        let sets_namespace = manifest.get("metadata").and_then(|it| it.get("namespace")).is_some();
        if self.objects.is_empty() || sets_namespace || new.is_generated {
            return None;
        }
        let all = self.namespaces.get_or_init(|| {
            let mut all = HashMap::<_, Vec<_>>::new();
            for ObjectId { kind, name, namespace, .. } in self.objects.keys() {
                all.entry((kind.clone(), name.clone())).or_default().push(namespace.clone());
            }
            all
        });
        match &all.get(&(new.kind.clone(), new.name.clone()))?[..] {
            [one] if *one != namespace_or_default(None) => Some(namespaces::hint(one)),
            _ => None,
        }
    }

    fn has(&self, path: &Path, id: &ObjectId) -> bool {
        let source = Source::FileInFolder(path.to_owned(), Group::Alone).reread();
        documents(source.text(), false).flatten().any(|objects| {
            let objects = objects.in_namespace(self.namespace.as_deref());
            let mut manifests = objects.manifests.iter();
            manifests.any(|it| !it.is_partial() && ObjectId::of(&it.node) == *id)
        })
    }
}
