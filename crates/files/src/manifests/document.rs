//! The objects of a document that `check` evaluates.

use kube_yaml::{Document, Problem};
use setguard_core::{
    finding::Field,
    inventory::object_summary::ObjectSummary,
    kubernetes::{resource::Resource, version::Version},
    object::schema,
};

use super::{
    id::ObjectId,
    not_a_manifest,
    not_checked::Cause,
    objects::{self, ManifestObject},
};
use crate::manifests::prelude::*;

/// An object to evaluate.
#[derive(Debug)]
pub struct Manifest<'a> {
    /// The declared resource. `None` if no cluster serves it; a problem then gives the reason.
    pub resource: Option<&'static Resource>,
    /// The tree of the object.
    pub node: Node<'a>,
    /// Problems with the text or the resource. Their fields are relative to the object, not to the document.
    pub problems: Vec<Problem>,
    /// The object's path in the document.
    pub at: Field,
    /// From Helm's comment `# Source:`.
    template: Option<&'a str>,
}

/// A manifest as the API server decodes it.
#[derive(Debug)]
pub struct Decoded {
    pub resource: &'static Resource,
    /// The JSON of the object; see [`schema::Reading::json`].
    pub json: String,
    /// The differences from the schema, without the manifest's own problems.
    pub problems: Vec<Problem>,
}

impl Manifest<'_> {
    /// Decodes the manifest by the schema of this release. `None` if no cluster serves its resource.
    pub fn decode(&self, release: Version) -> Option<Decoded> {
        let resource = self.resource?;
        let reading = schema::read_for(&self.node, resource, release);
        let json = reading.json(&self.node);
        Some(Decoded { resource, json, problems: reading.problems })
    }

    /// Returns whether the manifest is only a part of a set, without selector and Pod labels. The API server rejects
    /// it.
    pub fn is_partial(&self) -> bool {
        !self.has(&["selector"]) && !self.has(&["template", "metadata", "labels"])
    }

    /// Returns whether the manifest is a part of a set among the files of a test. The API server rejects it. Only the
    /// files that a test expects may have containers without a selector.
    pub(super) fn is_part_of_test(&self, is_expected: bool) -> bool {
        self.is_partial()
            || !self.has(&["template", "spec", "containers"])
            || is_expected && !self.has(&["selector"])
    }

    fn has(&self, path: &[&str]) -> bool {
        let spec = self.node.get("spec");
        path.iter().fold(spec, |at, key| at.and_then(|it| it.get(key))).is_some()
    }

    /// Returns the file that the object was rendered from, according to Helm's comment or kustomize's annotation.
    pub fn rendered_from(&self) -> Option<String> {
        let annotations = self.node.get("metadata").and_then(|it| it.get("annotations"));
        let origin = annotations.and_then(|it| it.get(ORIGIN_ANNOTATION)).and_then(Node::as_str);
        let path = origin.and_then(|it| it.lines().find_map(|line| line.strip_prefix("path: ")));
        path.or(self.template).map(str::to_owned)
    }
}

/// kustomize records the origin of an object here, with `originAnnotations`.
const ORIGIN_ANNOTATION: &str = "config.kubernetes.io/origin";

/// Returns the documents of a text, each with its objects or with the problem that makes it unreadable. `is_named` is
/// false for a file that is read only because it is in a folder.
pub fn documents(
    text: &str,
    is_named: bool,
) -> impl Iterator<Item = Result<DocumentObjects<'_>, Problem>> {
    kube_yaml::documents(text)
        .map(move |it| it.map(|document| DocumentObjects::of(document, is_named)))
}

/// Returns the sets of a source, without documents that cannot be read. `namespace` is for sets without one.
pub fn sets<'a>(
    source: &'a Source,
    namespace: Option<&'a str>,
) -> impl Iterator<Item = Manifest<'a>> {
    let namespace = source.namespace(namespace);
    let objects = documents(source.text(), source.is_named()).flatten();
    objects.flat_map(move |it| it.in_namespace(namespace).manifests)
}

/// Returns whether an object has a set at any depth. Its controller may apply it.
fn has_inner_set(object: &Node<'_>) -> bool {
    let is_set = |it: &Node<'_>| {
        let of = |key| it.get(key).and_then(Node::as_str).unwrap_or_default();
        let is_whole = it.get("spec").is_some_and(|it| it.get("template").is_some());
        is_whole && Resource::of(of("apiVersion"), of("kind")).is_some()
    };
    let has = |it: &Node<'_>| is_set(it) || has_inner_set(it);
    match &object.value {
        Value::Map(entries) => entries.iter().any(|(_, it)| has(it)),
        Value::Seq(items) => items.iter().any(has),
        _ => false,
    }
}

/// An object that may be a set and cannot be checked.
#[derive(Debug)]
pub struct Unread {
    /// Its identity, as far as setguard knows it.
    pub id: ObjectId,
    /// Its line, counted from 1.
    pub line: usize,
    /// The reason in one word.
    pub cause: Cause,
    /// The reason, and how to check it.
    pub why: String,
}

/// The objects of a document, sorted by their treatment.
#[derive(Debug, Default)]
pub struct DocumentObjects<'a> {
    /// Objects to evaluate.
    pub manifests: Vec<Manifest<'a>>,
    /// Objects of other kinds.
    pub others: Vec<ManifestObject<'a>>,
    /// Values in the place of an object that aren't objects.
    pub strays: Vec<Problem>,
    /// The number of parts that aren't objects and need not be.
    pub passed_over: usize,
}

impl<'a> DocumentObjects<'a> {
    /// Sorts the objects of a document; see [`documents`] for `is_named`.
    pub fn of(document: Document<'a>, is_named: bool) -> Self {
        let mut sorted = DocumentObjects::default();
        let first = document.root.mark.line;
        let above = document.comments.iter().filter(|comment| comment.line < first);
        let template = above.filter_map(|comment| comment.after("Source")).next_back();
        for object in ManifestObject::all(document.root) {
            sorted.add(object, is_named, template);
        }
        sorted.hand_out(document.problems);
        sorted
    }

    /// Sets the namespace of objects that have none.
    pub fn in_namespace(mut self, namespace: Option<&str>) -> Self {
        if let Some(namespace) = namespace {
            let manifests = self.manifests.iter_mut().map(|manifest| &mut manifest.node);
            let others = self.others.iter_mut().map(|object| &mut object.node);
            manifests.chain(others).for_each(|node| objects::set_namespace(node, namespace));
        }
        self
    }

    /// Returns the objects of other kinds that rules need to evaluate the manifests.
    pub fn related(&self) -> impl Iterator<Item = &Node<'a>> {
        let is_of_interest = |object: &&ManifestObject<'_>| {
            ObjectSummary::is_of_interest(object.api_version(), object.kind())
        };
        self.others.iter().filter(is_of_interest).map(|object| &object.node)
    }

    /// Returns the objects that may be sets and cannot be checked.
    pub fn unread(&self) -> impl Iterator<Item = Unread> {
        self.others.iter().filter_map(|object| {
            let version = not_a_manifest::other_version(object.api_version(), object.kind());
            let version = version.map(|why| (Cause::Version, why));
            let placeholder =
                || Some((Cause::Placeholder, not_a_manifest::placeholder(&object.node)?));
            let inner = || {
                let kind = object.kind();
                let why =
                    format!("setguard does not read the sets in {kind}; check what is applied");
                // Tests apply them nowhere else, and nobody applies a review.
                let groups = ["chainsaw.kyverno.io/", "admission.k8s.io/"];
                let is_applied = !groups.iter().any(|it| object.api_version().starts_with(it));
                (is_applied && has_inner_set(&object.node)).then_some((Cause::Unreadable, why))
            };
            let (cause, why) = version.or_else(placeholder).or_else(inner)?;
            Some(Unread { id: ObjectId::of(&object.node), line: object.node.mark.line, cause, why })
        })
    }

    /// Assigns each problem to the object that contains it. Drops problems of objects that are not evaluated.
    fn hand_out(&mut self, problems: Vec<Problem>) {
        if problems.is_empty() {
            return;
        }
        let places = self.manifests.iter().enumerate();
        let places: HashMap<String, usize> =
            places.map(|(i, manifest)| (manifest.at.to_string(), i)).collect();
        for mut problem in problems {
            // An object is the document, or an item of a list of lists.
            let steps = problem.field.steps().count();
            let place = (0..=steps).find_map(|n| places.get(&problem.field.first(n).to_string()));
            if let Some(manifest) = place.and_then(|i| self.manifests.get_mut(*i))
                && let Some(field) = problem.field.strip_prefix(&manifest.at)
            {
                problem.field = field;
                manifest.problems.push(problem);
            }
        }
    }

    fn add(&mut self, object: ManifestObject<'a>, is_named: bool, template: Option<&'a str>) {
        if let Some(problem) = not_a_manifest::no_object(&object.node) {
            let is_item = object.at != Field::default();
            let is_meant = is_item || not_a_manifest::is_meant_as_object(&object.node);
            if is_named || is_meant && !not_a_manifest::is_of_others(object.kind()) {
                self.strays.push(problem);
            } else if not_a_manifest::placeholder(&object.node).is_some() {
                self.others.push(object);
            } else {
                self.passed_over += 1;
            }
            return;
        }
        let (api_version, kind) = (object.api_version(), object.kind());
        let resource = Resource::of(api_version, kind);
        let problem = match resource {
            Some(_) => None,
            None => not_a_manifest::unserved(&object.node, api_version, kind),
        };
        if resource.is_some() || problem.is_some() {
            let ManifestObject { node, at } = object;
            let problems = problem.into_iter().collect();
            self.manifests.push(Manifest { resource, node, problems, at, template });
        } else {
            self.others.push(object);
        }
    }
}
