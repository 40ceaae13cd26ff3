//! Kustomizations, and their annotations about the origin of each object.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use kube_yaml::{Comment, Document, Node};

use super::{
    Output, Root, Settings, documents,
    fence::Fence,
    place::{self, Files, Origin, Part, Step},
    program, relative, shown,
};
use crate::manifests::{kustomization::Kustomization, layout::is_kustomization, patches::items};

/// Upstream: `originAnnotationKey` and `transformerAnnotationKey` in
/// sigs.k8s.io/kustomize/api/internal/utils/annotations.go.
const ORIGIN: &str = "config.kubernetes.io/origin";
const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// Words that occur in each text with sets, or with releases of charts.
const HAVE_PLACES: [&str; 4] = ["aemonSet", "tatefulSet", "argoproj.io/", "toolkit.fluxcd.io/"];

const ACCUMULATING: &str = "accumulating resources from '";

/// The text is the output of a user's own build. A second build finds its places: a kustomization in a temporary folder
/// asks for annotations, so no file of the user changes. Patches can select by these annotations. If an object differs
/// because of that, its places are unknown.
pub(super) fn build(
    root: &Root,
    folder: &Path,
    fence: &Fence<'_>,
    settings: &Settings,
) -> Result<Output, String> {
    let (name, program) = program::find(&["kustomize", "kubectl"])
        .ok_or("a kustomization needs kustomize or kubectl, and neither is on the PATH")?;
    let known = fence.kustomization()?;
    let home = program::home()?;
    let wrapper = dunce::canonicalize(home.path()).map_err(|error| error.to_string())?;
    let run = |folder: &Path| {
        let verb = if name == "kubectl" { "kustomize" } else { "build" };
        let args = [verb.as_ref(), folder.as_os_str()];
        program::run(program::closed(&program, &args, &wrapper), settings.timeout)
    };
    let text = run(folder).map_err(|why| {
        let why = why.replace(&*folder.to_string_lossy(), &root.folder.to_string_lossy());
        // The error repeats for each kustomization on the path to the faulty one.
        let last = why.rfind(ACCUMULATING).and_then(|at| why.get(at..));
        // Some releases quote errors inside errors.
        let last = last.map_or(&*why, |it| it.trim_end_matches(['"', '\'']));
        let is_remote = ["proxyconnect", "CGI environment", "no 'git' program"];
        let is_remote = is_remote.iter().any(|it| last.contains(it));
        let remote = if is_remote { "; setguard fetches no remote base" } else { "" };
        format!("{name}: {last}{remote}")
    })?;
    let annotated = || {
        let resource = serde_json::json!([relative(&wrapper, folder)?.to_string_lossy()]);
        // kustomize writes this label only for the kustomization that it builds.
        let own = Kustomization::of_folder(folder).is_some_and(|it| it.names_manager());
        let label = if own { ", managedByLabel" } else { "" };
        let asked = format!(
            "resources: {resource}\nbuildMetadata: [originAnnotations, transformerAnnotations{label}]\n"
        );
        std::fs::write(wrapper.join("kustomization.yaml"), asked).ok()?;
        run(&wrapper).ok()
    };
    let has_places = HAVE_PLACES.iter().any(|it| text.contains(it));
    let annotated = has_places.then(annotated).flatten().unwrap_or_default();
    let files = Files::within(&fence.top);
    let mut reader = Reader { root, folder, wrapper: &wrapper, known, files };
    let origins = reader.origins(&annotated);
    let (text, parts) = reader.read(&text, origins);
    Ok(Output { text, parts, note: None })
}

struct Reader<'a> {
    root: &'a Root,
    folder: &'a Path,
    wrapper: &'a Path,
    /// The kustomizations that were built, and the files that they name.
    known: BTreeSet<PathBuf>,
    files: Files,
}

impl Reader<'_> {
    /// Returns the origins of the objects in an annotated text, keyed by the object without its annotations.
    fn origins(&mut self, annotated: &str) -> HashMap<String, Origin> {
        let documents = documents(annotated).into_iter().filter_map(|(_, it)| annotated.get(it));
        let documents = documents.filter_map(|it| kube_yaml::documents(it).flatten().next());
        documents.map(|it| (without_annotations(&it), self.origin(&it))).collect()
    }

    /// Returns the text with the comments for setguard, and its parts.
    fn read(&mut self, built: &str, mut origins: HashMap<String, Origin>) -> (String, Vec<Part>) {
        let (mut text, mut parts) = (String::new(), Vec::new());
        let mut count = 0;
        for (_, range) in documents(built) {
            let document = built.get(range).unwrap_or_default();
            let parsed = kube_yaml::documents(document).flatten().next();
            let origin = parsed.as_ref().and_then(|it| origins.remove(&without_annotations(it)));
            let origin = origin.unwrap_or(Origin::Unknown);
            let comments =
                parsed.as_ref().map_or_else(BTreeMap::new, |it| self.comments(it, &origin));
            let start = text.len() + "---\n".len();
            let (line, range) = (count + 1, start..start);
            let mut part = Part { line, range, origin, comments: Vec::new() };
            let mut add = |line: &str| {
                text.push_str(line);
                text.push('\n');
                count += 1;
                count
            };
            add("---");
            for (i, line) in document.lines().enumerate() {
                let indent = line.len() - line.trim_start().len();
                for (comment, at) in comments.get(&(i + 1)).into_iter().flatten() {
                    part.comments.push((add(&format!("{:indent$}# {comment}", "")), *at));
                }
                add(line);
            }
            part.range.end = text.len();
            parts.push(part);
        }
        (text, parts)
    }

    /// Returns the origin of an object, according to its annotations.
    fn origin(&mut self, document: &Document<'_>) -> Origin {
        let annotations = document.root.get("metadata").and_then(|it| it.get("annotations"));
        let Some(annotations) = annotations else { return Origin::Unknown };
        let find = |node: &Node<'_>, key: &str| {
            let path = node.get(key)?.as_str()?;
            let file = dunce::canonicalize(self.wrapper.join(path)).ok()?;
            // kustomize keeps the annotations of the resource itself, with any path.
            self.known.contains(&file).then_some(file)
        };
        let said = |key: &str| annotations.get(key).and_then(Node::as_str).unwrap_or_default();
        let root = |text| kube_yaml::documents(text).flatten().map(|it| it.root).next();
        let of = root(said(ORIGIN));
        let of = |key| of.as_ref().and_then(|it| find(it, key));
        let file = of("path").or_else(|| of("configuredIn"));
        let mut by = Vec::new();
        for item in items(root(said(TRANSFORMATIONS)).as_ref()) {
            let kind = item.get("configuredBy").and_then(|it| it.get("kind"));
            let kind = kind.and_then(Node::as_str).unwrap_or_default().to_owned();
            let file = find(item, "configuredIn").filter(|it| is_kustomization(it));
            by.extend(file.map(|file| (file, kind)));
        }
        let has_own = |file: &PathBuf| {
            let name = shown(self.root, self.folder, file);
            let source = self.files.get(file, &name);
            source.is_some_and(|it| it.text().contains(TRANSFORMATIONS))
        };
        if file.as_ref().is_some_and(has_own) {
            by.clear();
        }
        by.dedup();
        file.map_or(Origin::Unknown, |file| {
            let name = |file: &Path| shown(self.root, self.folder, file);
            let by = by.into_iter().map(|(file, kind)| (name(&file), file, kind)).collect();
            Origin::Kustomize { name: name(&file), file, by }
        })
    }

    /// Returns the comments for setguard in the source of an object, by the line below them. kustomize drops them.
    fn comments(
        &mut self,
        document: &Document<'_>,
        origin: &Origin,
    ) -> BTreeMap<usize, Vec<(String, usize)>> {
        let mut found = BTreeMap::<usize, Vec<_>>::new();
        let Origin::Kustomize { name, file, .. } = origin else { return found };
        self.files.source_of(file, name, &document.root, |root, comments, before| {
            let of_setguard = |it: &&Comment<'_>| it.text.starts_with("setguard:");
            for comment in comments.iter().filter(of_setguard) {
                let is_meant = |line: usize| {
                    if comment.is_alone { line > comment.line } else { line == comment.line }
                };
                let path: Vec<Step<'_>> = place::first_path(root, &is_meant);
                let (steps, at, _) = place::follow(&document.root, root, &path);
                if steps == path.len() {
                    let entry = (comment.text.to_owned(), before + comment.line);
                    found.entry(at.line).or_default().push(entry);
                }
            }
        });
        found
    }
}

/// Returns an object as JSON, without the annotations about its origin.
fn without_annotations(document: &Document<'_>) -> String {
    let mut json: serde_json::Value =
        serde_json::from_str(&document.root.to_json()).unwrap_or_default();
    if let Some(metadata) = json["metadata"].as_object_mut() {
        let annotations = metadata.get_mut("annotations").and_then(|it| it.as_object_mut());
        if let Some(annotations) = annotations {
            annotations.retain(|key, _| key != ORIGIN && key != TRANSFORMATIONS);
        }
        metadata.retain(|_, it| it.as_object().is_none_or(|it| !it.is_empty()));
    }
    json.to_string()
}
