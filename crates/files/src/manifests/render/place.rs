//! Maps a position in a rendered text back to the file that people edit.

use std::{
    cell::OnceCell,
    collections::HashMap,
    ops::Range,
    path::{Path, PathBuf},
    rc::Rc,
};

use kube_yaml::{Comment, Mark, Node, Value};

use super::{Root, documents, fence, helm, repeat::Changing, root::Kind};
use crate::manifests::{
    document,
    exclude::whole,
    files::{self, LARGEST_IN_FOLDER},
    id::ObjectId,
    layout::is_kustomization,
    not_checked::may_have_set,
    objects::{ManifestObject, text_of},
    patches::items,
    source::Source,
};

/// The origin of a rendered text.
#[derive(Debug)]
pub struct Rendered {
    pub(in crate::manifests) root: Root,
    /// Without links.
    pub(super) folder: PathBuf,
    /// The folder that all sources are in.
    pub(super) top: PathBuf,
    pub(super) note: Option<String>,
    pub(super) parts: Vec<Part>,
    /// Whether an object of Argo CD or Flux applies the folder, and can decide about namespaces.
    pub(super) is_applied: bool,
    /// The values of an earlier version that differ in each rendering, each with its current value.
    pub(super) random: Vec<Changing>,
}

#[derive(Debug)]
pub(super) struct Part {
    /// The number of lines before it.
    pub(super) line: usize,
    pub(super) range: Range<usize>,
    pub(super) origin: Origin,
    /// The lines of added comments, each with its line in the source.
    pub(super) comments: Vec<(usize, usize)>,
}

#[derive(Debug)]
pub(super) enum Origin {
    Kustomize {
        /// As the user would write it, and without links.
        name: PathBuf,
        file: PathBuf,
        /// The kustomizations that changed the resource, in order: name, file, and kind of change.
        by: Vec<(PathBuf, PathBuf, String)>,
    },
    /// The template, as Helm names it.
    Helm(String),
    Unknown,
}

/// The source files that were read.
#[derive(Debug, Default)]
pub struct Files {
    known: HashMap<PathBuf, Option<Rc<SourceFile>>>,
    /// The text that leads to a file can be forged, so the file must be in this folder.
    top: PathBuf,
}

#[derive(Debug)]
struct SourceFile {
    source: Rc<Source>,
    objects: OnceCell<Vec<SourceObject>>,
}

#[derive(Debug)]
struct SourceObject {
    kind: String,
    name: String,
    namespace: String,
    /// The number of lines before its document, the document, and the number of objects before it there.
    line: usize,
    range: Range<usize>,
    index: usize,
}

impl Files {
    pub(super) fn within(top: &Path) -> Self {
        Files { top: top.to_owned(), ..Files::default() }
    }

    fn file(&mut self, file: &Path, name: &Path) -> Option<Rc<SourceFile>> {
        let target = dunce::canonicalize(file).ok()?;
        fence::is_in(&self.top, &target).then(|| self.read(file, name))?
    }

    fn read(&mut self, file: &Path, name: &Path) -> Option<Rc<SourceFile>> {
        let read = || {
            let bytes = files::read_regular(file, LARGEST_IN_FOLDER).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let source = Rc::new(Source::named(name.display().to_string(), text));
            Some(Rc::new(SourceFile { source, objects: OnceCell::new() }))
        };
        self.known.entry(file.to_owned()).or_insert_with(read).clone()
    }

    pub(super) fn get(&mut self, file: &Path, name: &Path) -> Option<Rc<Source>> {
        self.file(file, name).map(|it| Rc::clone(&it.source))
    }

    /// Reads a file that the user named, wherever it is.
    pub(super) fn named(&mut self, file: &Path, name: &Path) -> Option<Rc<Source>> {
        self.read(file, name).map(|it| Rc::clone(&it.source))
    }

    /// Calls `see` with the object in a file that an object was rendered from, the comments of its document, and the
    /// number of lines before the document.
    pub(super) fn source_of<T>(
        &mut self,
        file: &Path,
        name: &Path,
        object: &Node<'_>,
        see: impl FnOnce(&Node<'_>, &[Comment<'_>], usize) -> T,
    ) -> Option<T> {
        let file = self.file(file, name)?;
        let (kind, name) = (text_of(object, "kind"), name_of(object));
        let namespace = namespace_of(object);
        let mut all: Vec<_> = file.objects().iter().filter(|it| it.kind == kind).collect();
        if all.len() > 1 {
            // A kustomization extends names, and sets one namespace for all.
            all.retain(|it| name.contains(&it.name));
            let rank = |it: &SourceObject| (it.name.len(), it.namespace == namespace);
            let best = all.iter().map(|it| rank(it)).max()?;
            all.retain(|it| rank(it) == best);
        }
        let [SourceObject { line, range, index, .. }] = all[..] else { return None };
        let text = file.source.text().get(range.clone())?;
        let document = kube_yaml::documents(text).flatten().next()?;
        let comments = document.comments;
        let node = ManifestObject::all(document.root).into_iter().nth(*index)?.node;
        Some(see(&node, &comments, *line))
    }
}

impl SourceFile {
    fn objects(&self) -> &[SourceObject] {
        self.objects.get_or_init(|| {
            let mut all = Vec::new();
            for (line, range) in documents(self.source.text()) {
                let text = self.source.text().get(range.clone()).unwrap_or_default();
                let Some(document) = kube_yaml::documents(text).flatten().next() else { continue };
                for (index, it) in ManifestObject::all(document.root).into_iter().enumerate() {
                    let node = &it.node;
                    let (kind, name) = (it.kind().to_owned(), name_of(node).to_owned());
                    let (namespace, range) = (namespace_of(node).to_owned(), range.clone());
                    all.push(SourceObject { kind, name, namespace, line, range, index });
                }
            }
            all
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'n> {
    Key(&'n str),
    Item(usize),
}

pub(super) type Place = (Rc<Source>, Mark);

impl Rendered {
    /// Returns the name of the root.
    pub fn name(&self) -> String {
        self.root.name()
    }

    pub(in crate::manifests) fn namespace(&self) -> Option<&str> {
        match &self.root.kind {
            Kind::Chart(release) => release.namespace.as_deref(),
            Kind::Kustomization => self.root.part_of.as_ref()?.namespace.as_deref(),
        }
    }

    /// Returns whether an object applies the folder, and can decide about namespaces.
    pub const fn is_applied(&self) -> bool {
        self.is_applied
    }

    /// Returns whether a kustomization uses the output of this root.
    pub const fn is_part(&self) -> bool {
        self.root.is_part()
    }

    /// Returns whether it has no documents.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the files that objects come from, without links.
    pub(super) fn origins(&self) -> impl Iterator<Item = PathBuf> {
        self.parts.iter().filter_map(|it| match &it.origin {
            Origin::Kustomize { file, .. } => Some(file.clone()),
            Origin::Helm(template) => {
                let chart = helm::Chart { root: &self.root, folder: &self.folder };
                Some(whole(&chart.file(template.split_once('/')?.1)))
            }
            Origin::Unknown => None,
        })
    }

    /// Returns the sets in the text that come from an unknown file. If a patch replaces all annotations, kustomize
    /// takes the patch's kustomization for the origin.
    pub(super) fn without_origin(&self, text: &str) -> Vec<ObjectId> {
        let parts = self.parts.iter().filter(|it| match &it.origin {
            Origin::Kustomize { file, .. } => is_kustomization(file),
            Origin::Helm(_) => false,
            Origin::Unknown => true,
        });
        let texts = parts.filter_map(|it| text.get(it.range.clone()));
        let texts = texts.filter(|it| may_have_set(it));
        let documents = texts.flat_map(|it| document::documents(it, true)).flatten();
        let sets = documents.flat_map(|it| it.manifests);
        sets.map(|it| ObjectId::of(&it.node)).collect()
    }

    /// Returns the file that represents the root in reports.
    pub fn file(&self) -> String {
        self.root.file().display().to_string()
    }

    /// Returns the files outside a chart that decide how it is deployed.
    pub fn deployed_from_outside(&self) -> Vec<PathBuf> {
        let folder = &self.root.folder;
        let parts = if self.root.is_chart() { self.root.parts() } else { Vec::new() };
        parts.into_iter().filter(|it| !it.starts_with(folder)).collect()
    }

    /// Returns the source of a position in the rendered text. `None` if it is unknown.
    pub fn place(&self, text: &str, mark: Mark, files: &mut Files) -> Option<(Rc<Source>, Mark)> {
        let last = self.parts.partition_point(|it| it.line < mark.line).checked_sub(1)?;
        let part = self.parts.get(last)?;
        let document = text.get(part.range.clone())?;
        let root = kube_yaml::documents(document).flatten().next()?.root;
        let line = mark.line - part.line;
        let path = path_to(&root, Mark { line, ..mark });
        files.top.clone_from(&self.top);
        match &part.origin {
            Origin::Kustomize { name, file, by } => {
                let source = files.get(file, name)?;
                if let Some((_, line)) = part.comments.iter().find(|(line, _)| *line == mark.line) {
                    return Some((source, Mark { line: *line, column: 1, width: 0 }));
                }
                let at = files.source_of(file, name, &root, |from, _, before| {
                    let (steps, at, node) = follow(from, &root, &path);
                    let at = Mark { line: before + at.line, ..at };
                    let is_there = steps == path.len() && is_same(node, value_at(&root, &path));
                    (at, is_there, name_of(from).to_owned())
                });
                let Some((at, is_there, own)) = at else {
                    // A generator names the file of the kustomization.
                    return Some((source, Mark { line: 1, column: 1, width: 0 }));
                };
                let object = Changed { object: &root, own: &own, path: &path };
                let mut change = || {
                    let mut by = by.iter().rev();
                    by.find_map(|(name, file, kind)| object.by((name, file, kind), files)).flatten()
                };
                let change = if is_there { None } else { change() };
                Some(change.unwrap_or((source, at)))
            }
            Origin::Helm(template) => {
                let comment = document.lines().nth(line.checked_sub(1)?);
                let comment = comment.filter(|it| it.trim().starts_with('#'));
                let chart = helm::Chart { root: &self.root, folder: &self.folder };
                chart.place(template, &root, &path, comment, files)
            }
            Origin::Unknown => None,
        }
    }
}

/// A value that a kustomization may have set.
struct Changed<'a> {
    object: &'a Node<'a>,
    /// The object's name in its file.
    own: &'a str,
    path: &'a [Step<'a>],
}

impl Changed<'_> {
    /// Returns the place in a kustomization, or in one of its patches, that sets the value. `Some(None)` if it is not
    /// certain that a patch there is for this object.
    fn by(
        &self,
        (name, file, kind): (&Path, &Path, &str),
        files: &mut Files,
    ) -> Option<Option<Place>> {
        let source = files.get(file, name)?;
        let root = kube_yaml::documents(source.text()).flatten().next()?.root;
        let last = self.path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Item(_) => None,
        })?;
        let has =
            |key: &str| self.path.iter().any(|it| matches!(it, Step::Key(name) if *name == key));
        let keys: &[&str] = match kind {
            "ImageTagTransformer" if last == "image" => &["images"],
            "ReplicaCountTransformer" if last == "replicas" => &["replicas"],
            "NamespaceTransformer" if last == "namespace" => &["namespace"],
            "PrefixTransformer" if last == "name" => &["namePrefix"],
            "SuffixTransformer" if last == "name" => &["nameSuffix"],
            "LabelTransformer" if has("labels") || has("matchLabels") => {
                &["labels", "commonLabels"]
            }
            "AnnotationsTransformer" if has("annotations") => &["commonAnnotations"],
            "PatchTransformer" | "PatchStrategicMergeTransformer" | "PatchJson6902Transformer" => {
                return self.patched((file, name), &source, &root, files);
            }
            _ => &[],
        };
        let Value::Map(entries) = &root.value else { return None };
        let (key, _) = entries.iter().find(|(key, _)| keys.contains(&&*key.name))?;
        Some(Some((Rc::clone(&source), key.mark)))
    }

    /// Returns the place in the last patch that sets the value.
    fn patched(
        &self,
        (file, name): (&Path, &Path),
        source: &Rc<Source>,
        root: &Node<'_>,
        files: &mut Files,
    ) -> Option<Option<Place>> {
        let lists = ["patches", "patchesStrategicMerge", "patchesJson6902"];
        let all: Vec<_> = lists.iter().flat_map(|key| items(root.get(key))).collect();
        all.into_iter().rev().find_map(|item| {
            let target = item.get("target");
            let is_meant = target.map_or(Some(true), |it| self.is_target(it));
            if is_meant == Some(false) {
                return None;
            }
            let patch = item.get("patch").and_then(Node::as_str);
            let inline = patch.or_else(|| item.as_str().filter(|it| it.contains('\n')));
            let (text, above, place) = match inline {
                Some(text) => {
                    // A block of text begins on the line below its key.
                    let Mark { line, column, .. } = item.get("patch").unwrap_or(item).mark;
                    let written = source.text().lines().nth(line - 1).unwrap_or_default();
                    let first = written.chars().nth(column - 1);
                    let above = line - usize::from(!matches!(first, Some('|' | '>')));
                    (text.to_owned(), Some(above), Rc::clone(source))
                }
                None => {
                    let way = item.get("path").unwrap_or(item).as_str()?;
                    let [file, name] = [file, name].map(|it| it.parent().unwrap_or(it).join(way));
                    let patch = files.get(&file, &crate::manifests::layout::clean(&name))?;
                    (patch.text().to_owned(), None, patch)
                }
            };
            let at = self.set_in(&text, target.is_some())?;
            let inside = |above| Mark { line: above + at.line, column: 1, width: 0 };
            Some(is_meant.map(|_| (place, above.map_or(at, inside))))
        })
    }

    fn set_in(&self, text: &str, has_target: bool) -> Option<Mark> {
        let Changed { object, path, .. } = *self;
        kube_yaml::documents(text).flatten().find_map(|document| match &document.root.value {
            Value::Seq(operations) => operations.iter().rev().find_map(|operation| {
                let mut steps = operation.get("path")?.as_str()?.split('/').skip(1).enumerate();
                let covers = steps.all(|(i, step)| match path.get(i) {
                    Some(Step::Key(key)) => *key == step.replace("~1", "/").replace("~0", "~"),
                    Some(Step::Item(_)) if step == "-" => {
                        let added = operation.get("value");
                        let there = path.get(..=i).and_then(|it| value_at(object, it));
                        let is_named = |it: &Node<'_>| {
                            text_of(it, "name") == there.map_or("", |it| text_of(it, "name"))
                        };
                        added.is_some_and(|it| is_same(it, there) && is_named(it))
                    }
                    Some(Step::Item(item)) => step == item.to_string(),
                    None => false,
                });
                covers.then_some(operation.mark)
            }),
            _ => {
                let patch = &document.root;
                let is_same_kind = text_of(patch, "kind") == text_of(object, "kind");
                if !(has_target || is_same_kind && self.may_have_name(name_of(patch))) {
                    return None;
                }
                let (steps, at, _) = follow(patch, object, path);
                (steps == path.len()).then_some(at)
            }
        })
    }

    /// Returns whether a patch with this target changes the object. `None` if that depends on more than kinds and names.
    fn is_target(&self, target: &Node<'_>) -> Option<bool> {
        let has = |key: &str| !text_of(target, key).is_empty();
        let agrees = |key: &str, is: &dyn Fn(&str) -> bool| match text_of(target, key) {
            "" | ".*" => Some(true),
            text => {
                let is_literal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
                text.chars().all(is_literal).then(|| is(text))
            }
        };
        let all = [
            agrees("kind", &|it| it == text_of(self.object, "kind")),
            agrees("name", &|it| self.may_have_name(it)),
            agrees("namespace", &|it| it == namespace_of(self.object)),
            (!has("labelSelector") && !has("annotationSelector")).then_some(true),
        ];
        if all.contains(&Some(false)) {
            Some(false)
        } else {
            all.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
        }
    }

    /// Returns whether the object had a name while it was built: prefixes and suffixes extend its own.
    fn may_have_name(&self, name: &str) -> bool {
        let rendered = name_of(self.object);
        name == self.own || rendered.contains(name) && name.contains(self.own)
    }
}

pub(super) fn name_of<'n>(object: &'n Node<'_>) -> &'n str {
    object.get("metadata").map_or("", |it| text_of(it, "name"))
}

fn namespace_of<'n>(object: &'n Node<'_>) -> &'n str {
    object.get("metadata").map_or("", |it| text_of(it, "namespace"))
}

/// Compares scalars; mappings and lists may have different parts.
fn is_same(one: &Node<'_>, other: Option<&Node<'_>>) -> bool {
    let is_large = |node: &Node<'_>| matches!(node.value, Value::Map(_) | Value::Seq(_));
    other.is_some_and(|other| is_large(one) && is_large(other) || one.value == other.value)
}

/// Returns the path to the value at a position, or to the first value on its line.
fn path_to<'n>(root: &'n Node<'_>, mark: Mark) -> Vec<Step<'n>> {
    let at = (mark.line, mark.column);
    let exact = find(root, &|it| (it.line, it.column) == at);
    exact.or_else(|| find(root, &|it| it.line == mark.line)).unwrap_or_default()
}

/// Returns the path to the first value whose line, or whose key's line, `is_meant` accepts.
pub(super) fn first_path<'n>(
    root: &'n Node<'_>,
    is_meant: &dyn Fn(usize) -> bool,
) -> Vec<Step<'n>> {
    find(root, &|it| is_meant(it.line)).unwrap_or_default()
}

fn find<'n>(node: &'n Node<'_>, is_it: &dyn Fn(Mark) -> bool) -> Option<Vec<Step<'n>>> {
    let below = |step: Step<'n>, node: &'n Node<'_>| {
        let mut path = find(node, is_it)?;
        path.insert(0, step);
        Some(path)
    };
    match &node.value {
        Value::Map(entries) => entries.iter().find_map(|(key, value)| {
            let step = Step::Key(&key.name);
            if is_it(key.mark) { Some(vec![step]) } else { below(step, value) }
        }),
        Value::Seq(items) => items.iter().enumerate().find_map(|(i, item)| {
            let step = Step::Item(i);
            if is_it(item.mark) { Some(vec![step]) } else { below(step, item) }
        }),
        _ => is_it(node.mark).then(Vec::new),
    }
}

pub(super) fn value_at<'n, 'a>(root: &'n Node<'a>, path: &[Step<'_>]) -> Option<&'n Node<'a>> {
    path.iter().try_fold(root, |at, step| match step {
        Step::Key(key) => at.get(key),
        Step::Item(i) => items(Some(at)).nth(*i),
    })
}

/// The fields that identify a list item.
const NAMES: [&str; 6] = ["name", "key", "mountPath", "containerPort", "port", "topologyKey"];

/// Follows `path`, the path of a value in `like`, through `tree`. List items are matched by name. Returns the number of
/// existing steps, the position of the last one, and its value.
pub(super) fn follow<'s, 'a>(
    tree: &'s Node<'a>,
    like: &Node<'_>,
    path: &[Step<'_>],
) -> (usize, Mark, &'s Node<'a>) {
    let (mut at, mut other, mut mark) = (tree, Some(like), tree.mark);
    for (done, step) in path.iter().enumerate() {
        let next = match step {
            Step::Key(name) => {
                let Value::Map(entries) = &at.value else { return (done, mark, at) };
                let entry = entries.iter().find(|(key, _)| key.name == *name);
                entry.map(|(key, value)| {
                    let is_large = matches!(value.value, Value::Map(_) | Value::Seq(_));
                    let is_on_line = !is_large && value.mark.width > 0;
                    (if is_on_line { value.mark } else { key.mark }, value)
                })
            }
            Step::Item(i) => {
                let item = other.and_then(|it| items(Some(it)).nth(*i));
                let name = |node: &Node<'_>| {
                    NAMES.iter().find_map(|key| Some((*key, node.get(key)?.to_json())))
                };
                let found = match item.map(|it| (name(it), it)) {
                    Some((Some(named), _)) => {
                        items(Some(at)).find(|it| name(it).as_ref() == Some(&named))
                    }
                    Some((None, item)) => items(Some(at))
                        .find(|it| it.to_json() == item.to_json())
                        .or_else(|| items(Some(at)).nth(*i)),
                    None => items(Some(at)).nth(*i),
                };
                found.map(|it| (it.mark, it))
            }
        };
        let Some((position, node)) = next else { return (done, mark, at) };
        other = other.and_then(|it| value_at(it, std::slice::from_ref(step)));
        (mark, at) = (position, node);
    }
    (path.len(), mark, at)
}
