use std::cell::LazyCell;

use setguard_files::manifests::{alternatives::is_same, namespaces};

use crate::prelude::*;
use crate::sides::Sides;

#[derive(Debug, Default)]
pub(crate) struct OldObjects {
    sides: Sides,
    /// Objects that setguard does not understand, each with its places and its JSON there.
    unread: HashMap<ObjectId, Vec<(String, String)>>,
    /// The objects as summaries, for the cross-object rules.
    pub(crate) inventory: Inventory,
}

impl OldObjects {
    /// Creates an empty collection. `namespace` applies to manifests that set none.
    pub(crate) fn of_namespace(namespace: Option<&str>) -> Self {
        let mut objects = OldObjects::default();
        objects.sides.namespace = namespace.map(str::to_owned);
        objects
    }

    /// Sets the new sources. They determine the file where a folder's object continues.
    pub(crate) fn followed_by(mut self, sources: &[Result<Source, FileError>]) -> Self {
        self.sides.follow(sources);
        self
    }

    /// Adds the objects of a source. Returns a message for each unreadable document.
    pub(crate) fn add(&mut self, source: &Source) -> Vec<String> {
        let mut complaints = Vec::new();
        let importance = LazyCell::new(|| Broken::of(source.text(), source.group()));
        for objects in documents(source.text(), source.is_named()) {
            match objects {
                Ok(objects) => {
                    let objects =
                        objects.in_namespace(source.namespace(self.sides.namespace.as_deref()));
                    for node in objects.related() {
                        ObjectSummary::of_json(&node.to_json())
                            .map(|item| self.inventory.add(item));
                    }
                    for it in objects.unread() {
                        self.unread.entry(it.id).or_default();
                    }
                    for manifest in objects.manifests {
                        self.insert(&manifest, source);
                    }
                }
                Err(_) if source.place().is_some() && is_template(source.text()) => {
                    self.sides.add_template(source);
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

    /// Adds the sets of a file that a walk leaves out. Nobody applied its other objects from there.
    pub(crate) fn add_moved(&mut self, source: &Source) {
        let namespace = self.sides.namespace.clone();
        sets(source, namespace.as_deref()).for_each(|it| self.insert(&it, source));
    }

    fn insert(&mut self, manifest: &Manifest<'_>, source: &Source) {
        // A cluster never has a patch as an object.
        if manifest.is_partial() {
            return;
        }
        let Some(decoded) = manifest.decode(Version::NEWEST) else { return };
        let Decoded { resource, json, problems } = decoded;
        let id = ObjectId::of(&manifest.node);
        let summary = |json: &str| {
            let object = Object::parse(resource, json).ok()?;
            let template = object.template();
            Some(ObjectSummary::of(&object).with_refusals(template).with_template(template))
        };
        let (mut item, json) = if let Some(item) = summary(&json) {
            (item, json)
        } else {
            let place = source.place().map(|it| it.display().to_string());
            let place = place.unwrap_or_else(|| source.name().to_owned());
            // The rest can be compared.
            let rest = without(&problems, &json).and_then(|it| Some((summary(&it)?, it)));
            self.unread.entry(id.clone()).or_default().push((place, json));
            let Some(rest) = rest else { return };
            rest
        };
        item.set_location(source.name().into(), manifest.node.mark.line);
        self.inventory.add(item);
        self.sides.add_old(id, resource, (source, json));
    }

    /// Returns the previous state of a file's object, as JSON, after the name of its source. `None` if the object is
    /// new.
    pub(crate) fn before(&self, id: &ObjectId, file: &str) -> Option<(&str, &str)> {
        // Only an API server converts between versions.
        let of_id = |old: &ObjectId| {
            let (known, _) = self.sides.old.get_key_value(old)?;
            self.sides.before(known, file).filter(|_| known.api_version == id.api_version)
        };
        let moved = || self.sides.moved_to(id, file, false);
        of_id(id).or_else(|| of_id(moved()?))
    }

    /// Returns whether the object was the same before the change.
    pub(crate) fn has_same(&self, id: &ObjectId, file: &str, manifest: &Manifest<'_>) -> bool {
        let Some(Decoded { json, .. }) = manifest.decode(Version::NEWEST) else { return false };
        let all = self.unread.get(id).into_iter().flatten();
        let is_gone = |place: &str| !self.sides.files_of(id).any(|it| is_same(it, place));
        match all.clone().find(|(place, _)| is_same(place, file)) {
            Some((_, was)) => *was == json,
            None => {
                let before = self.before(id, file).map(|(_, was)| was);
                // It may have moved.
                let mut gone = all.filter(|(place, _)| is_gone(place)).map(|(_, was)| was.as_str());
                before == Some(json.as_str()) || gone.any(|was| was == json)
            }
        }
    }

    /// Returns why only parts of an old object of a file are compared, if so.
    pub(crate) fn partly_read(&self, id: &ObjectId, file: &str) -> Option<String> {
        let mut all = self.unread.get(id)?.iter();
        all.any(|(place, _)| is_same(place, file)).then(|| {
            "parts of its earlier state cannot be read, so their change is not checked".to_owned()
        })
    }

    /// Returns why no old state of an object is read, if it may have one.
    pub(crate) fn unread(&self, id: &ObjectId, file: &str) -> Option<String> {
        if id.is_generated {
            let why = "kubectl apply refuses generateName, so this changes no object that there was before";
            return (!self.sides.old.is_empty()).then(|| why.to_owned());
        }
        if self.unread.contains_key(id) {
            return Some(
                "its earlier state cannot be read, so this change of it is not checked".to_owned(),
            );
        }
        if self.sides.was_template(file) {
            return Some(format!(
                "{file} was a template before, so changes of its objects are not checked"
            ));
        }
        None
    }

    /// Returns a note if this object may continue one of several.
    pub(crate) fn unclear(&self, id: &ObjectId, file: &str) -> Option<String> {
        if id.is_generated || self.unread(id, file).is_some() {
            return None;
        }
        // Otherwise `moved` and `namesake` have a hint.
        let has_namespace = id.namespace != namespace_or_default(None);
        if self.sides.old.contains_key(id) || !has_namespace {
            return self.sides.unclear(id, file);
        }
        None
    }

    /// Returns a note if a new object may be an object that disappeared from a different namespace.
    pub(crate) fn moved(&self, id: &ObjectId, file: &str) -> Option<String> {
        if id.is_generated || self.sides.old.contains_key(id) {
            return None;
        }
        let (old, was) = self.sides.other_namespace(id, file, false)?;
        let (place, _) = was.all.places().next()?;
        Some(format!("{place} had {old}; if this is the same object, its change is not checked"))
    }

    /// Returns a note if a manifest sets no namespace, and the previous manifests have its name only in a different
    /// namespace.
    pub(crate) fn namesake(&self, new: &ObjectId, manifest: &Node<'_>) -> Option<String> {
        let sets_namespace = manifest.get("metadata").and_then(|it| it.get("namespace")).is_some();
        if self.sides.old.is_empty() || sets_namespace || new.is_generated {
            return None;
        }
        let mut namesakes = self.sides.namesakes(new);
        let (Some(one), None) = (namesakes.next(), namesakes.next()) else { return None };
        (one.namespace != namespace_or_default(None)).then(|| namespaces::hint(&one.namespace))
    }
}

/// Returns an object without the fields that do not decode, such as a placeholder in place of a number.
fn without(problems: &[Problem], json: &str) -> Option<String> {
    let mut object: Value = serde_json::from_str(json).ok()?;
    for problem in problems {
        let pointer = problem.field.pointer();
        let (parent, key) = pointer.rsplit_once('/')?;
        if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
            fields.remove(key);
        }
    }
    Some(object.to_string())
}
