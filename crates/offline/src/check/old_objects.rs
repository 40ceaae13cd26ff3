use std::{
    cell::LazyCell,
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

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
    layout::clean,
    namespaces,
    not_a_manifest::{Broken, is_template},
    source::Source,
};

#[derive(Debug, Default)]
pub(crate) struct OldObjects {
    objects: HashMap<ObjectId, Alternatives<String>>,
    /// The namespaces by kind and name; computed on first use.
    namespaces: OnceLock<HashMap<(String, String), Vec<String>>>,
    /// The places of files that were templates.
    templates: HashSet<PathBuf>,
    /// Objects in versions that are not known.
    unread: HashSet<ObjectId>,
    /// The objects as summaries, for the cross-object rules.
    pub(crate) inventory: Inventory,
    namespace: Option<String>,
    /// The new files in folders.
    new: Files,
    /// The groups of new files in folders and of rendered output, by name.
    groups: HashMap<String, Group>,
    /// The objects of new rendered output, by its name.
    rendered: HashMap<String, HashSet<ObjectId>>,
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
        let assigned = new.iter().filter(|(_, group)| **group != Group::Alone);
        self.groups =
            assigned.map(|(path, group)| (path.display().to_string(), (*group).clone())).collect();
        for source in sources.iter().flatten().filter(|it| it.rendered().is_some()) {
            self.groups.insert(source.name().to_owned(), source.group().clone());
            if !self.objects.is_empty() {
                let namespace = source.namespace(self.namespace.as_deref());
                let objects = documents(source.text(), source.is_named()).flatten();
                let manifests = objects.flat_map(|it| it.in_namespace(namespace).manifests);
                let ids: HashSet<_> = manifests.map(|it| ObjectId::of(&it.node)).collect();
                self.rendered.insert(source.name().to_owned(), ids);
            }
        }
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
                    self.unread.extend(objects.unread().map(|it| it.id));
                    for manifest in objects.manifests {
                        self.insert(&manifest, source);
                    }
                }
                Err(_) if source.place().is_some() && is_template(source.text()) => {
                    self.templates.extend(source.place().map(clean));
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
        if id.is_generated {
            return None;
        }
        self.of_id(id, file).or_else(|| self.moved_to(id, file))
    }

    fn of_id(&self, id: &ObjectId, file: &str) -> Option<(&str, &str)> {
        // Only an API server converts between versions.
        let (old, all) = self.objects.get_key_value(id)?;
        let all = (old.api_version == id.api_version).then_some(all)?;
        let before = all.continued_by(file, self.group(file), &self.has_nearer(id));
        before.map(|(old, json)| (old, json.as_str()))
    }

    /// Returns the object that had no namespace in its file and is gone, or the other way around.
    fn other_namespace(
        &self,
        id: &ObjectId,
        file: &str,
    ) -> Option<(ObjectId, &Alternatives<String>)> {
        let default = namespace_or_default(None);
        let is_other = |it: &&String| (**it == *default) != (id.namespace == *default);
        let mut others = self.namespaces_of(id).iter().filter(is_other);
        let (Some(namespace), None) = (others.next(), others.next()) else { return None };
        let old = ObjectId { namespace: namespace.clone(), ..id.clone() };
        let all = self.objects.get(&old)?;
        // Rendered output has no place.
        let is_gone = |(name, place): (&str, &str)| match place {
            "" => name == file && self.rendered.get(file).is_none_or(|it| !it.contains(&old)),
            _ => self.new.at(place).is_none_or(|path| !self.has(path, &old)),
        };
        all.places().all(is_gone).then_some((old, all))
    }

    /// Returns such an object if a kustomization may have set its namespace.
    fn moved_to(&self, id: &ObjectId, file: &str) -> Option<(&str, &str)> {
        let (old, all) = self.other_namespace(id, file)?;
        let of_kustomization =
            matches!(self.group(file), Group::Kustomization(_) | Group::Rendered { .. });
        let is_same = of_kustomization || all.is_of_kustomization();
        is_same.then(|| self.of_id(&old, file)).flatten()
    }

    /// Returns whether a new file with the object is nearer to an old file than so many parts.
    fn has_nearer(&self, id: &ObjectId) -> impl Fn(&str, &str, usize) -> bool {
        move |old, place, common| {
            let is_root = matches!(self.groups.get(old), Some(Group::Rendered { .. }));
            let mut near = self.new.at(place).into_iter().chain(self.new.nearer(old, common));
            is_root || near.any(|path| self.has(path, id))
        }
    }

    fn group(&self, file: &str) -> &Group {
        self.groups.get(file).unwrap_or(&Group::Alone)
    }

    /// Returns a note if there may have been this object before, and it cannot be compared.
    pub(crate) fn unclear(&self, id: &ObjectId, file: &str) -> Option<String> {
        if id.is_generated {
            return None;
        }
        if self.unread.contains(id) {
            return Some(
                "its version before is not known, so this change of it is not checked".to_owned(),
            );
        }
        if self.templates.contains(&clean(Path::new(file))) {
            return Some(format!(
                "{file} was a template before, so changes of its objects are not checked"
            ));
        }
        let namesake = || {
            let (old, all) = self.other_namespace(id, file)?;
            let (place, _) = all.places().next()?;
            Some(format!(
                "{place} had {old}; if this is the same object, its change is not checked"
            ))
        };
        match self.objects.get(id) {
            Some(all) => all.unclear(self.group(file), &self.has_nearer(id)),
            // Otherwise `namesake` has a hint.
            None if id.namespace != namespace_or_default(None) => namesake(),
            None => None,
        }
    }

    /// Returns a note if a manifest sets no namespace, and the previous manifests have its name only in a different
    /// namespace.
    pub(crate) fn namesake(&self, new: &ObjectId, manifest: &Node<'_>) -> Option<String> {
        let sets_namespace = manifest.get("metadata").and_then(|it| it.get("namespace")).is_some();
        if self.objects.is_empty() || sets_namespace || new.is_generated {
            return None;
        }
        match self.namespaces_of(new) {
            [one] if *one != namespace_or_default(None) => Some(namespaces::hint(one)),
            _ => None,
        }
    }

    fn namespaces_of(&self, id: &ObjectId) -> &[String] {
        let all = self.namespaces.get_or_init(|| {
            let mut all = HashMap::<_, Vec<_>>::new();
            for ObjectId { kind, name, namespace, .. } in self.objects.keys() {
                all.entry((kind.clone(), name.clone())).or_default().push(namespace.clone());
            }
            all
        });
        all.get(&(id.kind.clone(), id.name.clone())).map_or(&[], Vec::as_slice)
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
