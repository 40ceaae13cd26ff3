//! The objects before and after a change, and which old object a new one continues. `check` and `plan` both ask here.

use std::sync::OnceLock;

use setguard_files::manifests::{
    alternatives::{Alternatives, common, is_same},
    layout::clean,
};

use crate::{prelude::*, proposal::apply::LAST_APPLIED};

/// An object before the change.
#[derive(Debug)]
pub(crate) struct Was {
    /// Its number in the input.
    pub(crate) order: usize,
    pub(crate) resource: &'static Resource,
    /// Its JSON, from each file that had it.
    pub(crate) all: Alternatives<String>,
}

/// The files with each object.
type Files = HashMap<ObjectId, Vec<String>>;

#[derive(Debug, Default)]
pub(crate) struct Sides {
    pub(crate) old: HashMap<ObjectId, Was>,
    /// The old objects by their ids without a namespace; computed on first use.
    namesakes: OnceLock<HashMap<ObjectId, Vec<ObjectId>>>,
    /// The roots that objects of Argo CD or Flux apply.
    applied: HashSet<String>,
    /// The places of old files that were templates.
    templates: HashSet<PathBuf>,
    /// The namespace of manifests that set none.
    pub(crate) namespace: Option<String>,
    /// The groups of new files and roots, except for single files.
    groups: HashMap<String, Group>,
    /// The new files and roots that are read.
    files: Files,
    /// The other new files, and their objects; read on first use.
    unread: Vec<PathBuf>,
    in_folders: OnceLock<Files>,
}

impl Sides {
    pub(crate) fn add_old(
        &mut self,
        id: ObjectId,
        resource: &'static Resource,
        (source, json): (&Source, String),
    ) {
        let order = self.old.len();
        let new = || Was { order, resource, all: Alternatives::default() };
        self.note_applied(source);
        let json = match source.rendered() {
            Some(rendered) => rendered.settled(&id, json),
            None => json,
        };
        let json = if source.may_be_of_cluster() { json } else { without_state(json) };
        let was = self.old.entry(id).or_insert_with(new);
        was.resource = resource;
        was.all.add_from(source, json);
    }

    /// Sets the only state of an object before the change.
    pub(crate) fn set_old(&mut self, id: ObjectId, resource: &'static Resource, json: String) {
        let (order, all) = (self.old.len(), Alternatives::of_cluster(json));
        self.old.insert(id, Was { order, resource, all });
        self.namesakes.take();
    }

    /// Notes that an old file was a template.
    pub(crate) fn add_template(&mut self, source: &Source) {
        self.templates.extend(source.place().map(clean));
    }

    /// Returns whether a file was a template before the change.
    pub(crate) fn was_template(&self, file: &str) -> bool {
        self.templates.contains(&clean(Path::new(file)))
    }

    pub(crate) fn add_new(&mut self, id: ObjectId, source: &Source) {
        self.set_group(source.name(), source.group());
        self.files.entry(id).or_default().push(source.name().to_owned());
    }

    /// Notes the new sources. Files in folders are read again if an object has moved.
    pub(crate) fn follow(&mut self, sources: &[Result<Source, FileError>]) {
        for source in sources.iter().flatten() {
            if let Some(path) = source.path_in_folder() {
                self.set_group(&path.display().to_string(), source.group());
                self.unread.push(path);
            } else if source.rendered().is_some() {
                self.note_applied(source);
                self.set_group(source.name(), source.group());
                let ids = if self.old.is_empty() { Vec::new() } else { self.ids(source) };
                ids.into_iter().for_each(|id| self.add_new(id, source));
            }
        }
    }

    fn note_applied(&mut self, source: &Source) {
        if source.rendered().is_some_and(Rendered::is_applied) {
            self.applied.insert(source.name().to_owned());
        }
    }

    fn set_group(&mut self, file: &str, group: &Group) {
        if *group != Group::Alone {
            self.groups.insert(file.to_owned(), group.clone());
        }
    }

    fn ids(&self, source: &Source) -> Vec<ObjectId> {
        let manifests = sets(source, self.namespace.as_deref());
        manifests.filter(|it| !it.is_partial()).map(|it| ObjectId::of(&it.node)).collect()
    }

    /// Returns the new files and roots with an object.
    pub(crate) fn files_of(&self, id: &ObjectId) -> impl Iterator<Item = &String> {
        let in_folders = self.in_folders.get_or_init(|| {
            let mut files = Files::new();
            for path in &self.unread {
                let source = Source::File(path.clone(), Group::Alone).reread();
                if may_have_set(source.text()) {
                    for id in self.ids(&source) {
                        files.entry(id).or_default().push(source.name().to_owned());
                    }
                }
            }
            files
        });
        [&self.files, in_folders].into_iter().filter_map(|it| it.get(id)).flatten()
    }

    pub(crate) fn group(&self, file: &str) -> &Group {
        self.groups.get(file).unwrap_or(&Group::Alone)
    }

    fn is_root(&self, file: &str) -> bool {
        matches!(self.group(file), Group::Rendered { .. })
    }

    /// Returns whether a new file with the object has more than this many parts in common with an old file. A root is
    /// nearest to itself.
    fn has_nearer(&self, id: &ObjectId) -> impl Fn(&str, &str, usize) -> bool {
        move |old, place, so_many| {
            let is_near = |it: &String| {
                !self.is_root(it) && (is_same(place, it) || common(old, it) > so_many)
            };
            self.is_root(old) || self.files_of(id).any(is_near)
        }
    }

    /// Returns the old file that the object of a new file continues, and the JSON there. `None` if the object is new; a
    /// generated name always makes it new.
    pub(crate) fn before(&self, id: &ObjectId, file: &str) -> Option<(&str, &str)> {
        let was = self.old.get(id).filter(|_| !id.is_generated)?;
        let before = was.all.continued_by(file, self.group(file), &self.has_nearer(id));
        before.map(|(old, json)| (old, json.as_str()))
    }

    /// Returns a note if this object existed before, and it isn't clear whether the one in this file continues it.
    pub(crate) fn unclear(&self, id: &ObjectId, file: &str) -> Option<String> {
        let was = self.old.get(id).filter(|_| !id.is_generated)?;
        was.all.unclear(self.group(file), &self.has_nearer(id))
    }

    /// Returns the old objects of this kind and name, in any namespace.
    pub(crate) fn namesakes(&self, id: &ObjectId) -> impl Iterator<Item = &ObjectId> {
        let without = |id: &ObjectId| ObjectId { namespace: String::new(), ..id.clone() };
        let all = self.namesakes.get_or_init(|| {
            let mut all = HashMap::<_, Vec<_>>::new();
            self.old.keys().for_each(|id| all.entry(without(id)).or_default().push(id.clone()));
            all
        });
        let all = all.get(&without(id)).into_iter().flatten();
        all.filter(|it| self.old.contains_key(it))
    }

    /// Returns the old object that no longer exists if only one of the two has a namespace, or both stood in this file;
    /// for a root, its object in any other namespace. Objects of files that the user named may come from a cluster, so they count only
    /// with `from_cluster`.
    pub(crate) fn other_namespace(
        &self,
        id: &ObjectId,
        file: &str,
        from_cluster: bool,
    ) -> Option<(&ObjectId, &Was)> {
        let default = namespace_or_default(None);
        // A different root may have its own object.
        let is_there = |it: &String| it == file || !self.is_root(it);
        let was_here = |it: &ObjectId| {
            let mut places = self.old.get(it).into_iter().flat_map(|it| it.all.places());
            places.any(|(_, place)| is_same(place, file))
        };
        let is_other = |it: &&ObjectId| {
            let is_default = it.namespace == default;
            (is_default != (id.namespace == default) || was_here(it) || self.is_of_root(it, file))
                && !self.files_of(it).any(is_there)
        };
        let mut others = self.namesakes(id).filter(is_other);
        let (Some(old), None) = (others.next(), others.next()) else { return None };
        let was = self.old.get(old)?;
        let may_be_it =
            |(name, place): (&str, &str)| from_cluster || !place.is_empty() || name == file;
        was.all.places().all(may_be_it).then_some((old, was))
    }

    /// Returns such an object if a kustomization or a release may have set its namespace.
    pub(crate) fn moved_to(
        &self,
        id: &ObjectId,
        file: &str,
        from_cluster: bool,
    ) -> Option<&ObjectId> {
        let (old, was) = self.other_namespace(id, file, from_cluster)?;
        let is_built = matches!(self.group(file), Group::Kustomization(_) | Group::Rendered { .. });
        // A root decides where its objects go.
        let is_same_root = self.is_of_root(old, file);
        (!is_same_root && (is_built || was.all.is_of_kustomization())).then_some(old)
    }

    /// Returns whether an old object belongs to the root with this name, and nothing else decides its namespace.
    fn is_of_root(&self, old: &ObjectId, file: &str) -> bool {
        let is_it = |it: &Was| it.all.places().any(|(name, _)| name == file);
        self.is_root(file) && !self.applied.contains(file) && self.old.get(old).is_some_and(is_it)
    }
}

/// Removes fields that only the API server and its clients write. In a file of a commit, they say nothing about the
/// cluster.
fn without_state(json: String) -> String {
    const STATE: [&str; 6] =
        ["status", "uid", "resourceVersion", "generation", "managedFields", LAST_APPLIED];
    if !STATE.iter().any(|it| json.contains(&format!("\"{it}\":"))) {
        return json;
    }
    let Ok(mut object) = serde_json::from_str::<Value>(&json) else { return json };
    for at in ["", "/metadata", "/metadata/annotations"] {
        if let Some(Value::Object(fields)) = object.pointer_mut(at) {
            fields.retain(|name, _| !STATE.contains(&name.as_str()));
        }
    }
    object.to_string()
}
