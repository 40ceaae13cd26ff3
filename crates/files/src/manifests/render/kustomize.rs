//! Kustomizations, and their annotations about the origin of each object.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use kube_yaml::{Comment, Document, Node, Value};

use super::{
    Output, Root, Settings, documents,
    fence::Fence,
    place::{self, Files, Origin, Part, Step},
    program, relative, shown,
};
use crate::manifests::{layout::is_kustomization, patches::items};

/// Upstream: `originAnnotationKey` and `transformerAnnotationKey` in
/// sigs.k8s.io/kustomize/api/internal/utils/annotations.go.
const ORIGIN: &str = "config.kubernetes.io/origin";
const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

const ACCUMULATING: &str = "accumulating resources from '";

/// Builds through a second kustomization in a temporary folder, which asks for the annotations, so no file of the user
/// changes.
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
    let way = relative(&wrapper, folder).ok_or("it is on another drive than temporary files")?;
    let resource = serde_json::json!([way.to_string_lossy()]);
    let text = format!(
        "resources: {resource}\nbuildMetadata: [originAnnotations, transformerAnnotations]\n"
    );
    std::fs::write(wrapper.join("kustomization.yaml"), text).map_err(|error| error.to_string())?;
    let verb = if name == "kubectl" { "kustomize" } else { "build" };
    let args = [verb.as_ref(), wrapper.as_os_str()];
    let built = program::run(program::closed(&program, &args, &wrapper), settings.timeout)
        .map_err(|why| {
            let why = why.replace(&*way.to_string_lossy(), &root.folder.to_string_lossy());
            // The error repeats for each kustomization on the way to the faulty one.
            let last = why.rfind(ACCUMULATING).and_then(|at| why.get(at..));
            // Some releases quote errors inside errors.
            let last = last.map_or(&*why, |it| it.trim_end_matches(['"', '\'']));
            let is_remote = ["proxyconnect", "CGI environment", "no 'git' program"];
            let is_remote = is_remote.iter().any(|it| last.contains(it));
            let remote = if is_remote { "; setguard fetches no remote base" } else { "" };
            format!("{name}: {last}{remote}")
        })?;
    let files = Files::within(&fence.top);
    let (text, parts) = Reader { root, folder, wrapper: &wrapper, known, files }.read(&built);
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
    /// Returns the text without the annotations but with the comments for setguard, and its parts.
    fn read(&mut self, built: &str) -> (String, Vec<Part>) {
        let (mut text, mut parts) = (String::new(), Vec::new());
        let mut count = 0;
        for (_, range) in documents(built) {
            let document = built.get(range).unwrap_or_default();
            let lines: Vec<_> = document.lines().collect();
            let parsed = kube_yaml::documents(document).flatten().next();
            let (origin, dropped) =
                parsed.as_ref().map_or((Origin::Unknown, vec![]), |it| self.origin(it, &lines));
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
            for (i, line) in lines.iter().enumerate() {
                let indent = line.len() - line.trim_start().len();
                for (comment, at) in comments.get(&(i + 1)).into_iter().flatten() {
                    part.comments.push((add(&format!("{:indent$}# {comment}", "")), *at));
                }
                if !dropped.contains(&(i + 1)) {
                    add(line);
                }
            }
            part.range.end = text.len();
            parts.push(part);
        }
        (text, parts)
    }

    /// Returns the origin of an object, and the lines of its annotations.
    fn origin(&mut self, document: &Document<'_>, lines: &[&str]) -> (Origin, Vec<usize>) {
        let metadata = document.root.get("metadata");
        let Some(Value::Map(entries)) =
            metadata.and_then(|it| it.get("annotations")).map(|it| &it.value)
        else {
            return (Origin::Unknown, Vec::new());
        };
        let (mut file, mut by, mut dropped, mut left) = (None, Vec::new(), Vec::new(), 0);
        let find = |node: &Node<'_>, key: &str| {
            let path = node.get(key)?.as_str()?;
            let file = dunce::canonicalize(self.wrapper.join(path)).ok()?;
            // kustomize keeps the annotations of the resource itself, with any path.
            self.known.contains(&file).then_some(file)
        };
        for (key, value) in entries {
            let said = value.as_str().unwrap_or_default();
            let said = || kube_yaml::documents(said).flatten().map(|it| it.root).next();
            match &*key.name {
                ORIGIN => {
                    let said = said();
                    let of = |key| said.as_ref().and_then(|it| find(it, key));
                    file = of("path").or_else(|| of("configuredIn"));
                }
                TRANSFORMATIONS => {
                    for item in items(said().as_ref()) {
                        let kind = item.get("configuredBy").and_then(|it| it.get("kind"));
                        let kind = kind.and_then(Node::as_str).unwrap_or_default().to_owned();
                        let file = find(item, "configuredIn").filter(|it| is_kustomization(it));
                        by.extend(file.map(|file| (file, kind)));
                    }
                }
                _ => {
                    left += 1;
                    continue;
                }
            }
            // Deeper lines belong to the value.
            let rest = lines.iter().skip(key.mark.line);
            let is_deeper = |line: &&&str| {
                line.trim().is_empty() || line.len() - line.trim_start().len() >= key.mark.column
            };
            dropped.extend(key.mark.line..=key.mark.line + rest.take_while(is_deeper).count());
        }
        if left == 0
            && let Some(first) = dropped.iter().min().copied()
        {
            dropped.push(first - 1);
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
        let origin = file.map_or(Origin::Unknown, |file| {
            let name = |file: &Path| shown(self.root, self.folder, file);
            let by = by.into_iter().map(|(file, kind)| (name(&file), file, kind)).collect();
            Origin::Kustomize { name: name(&file), file, by }
        });
        (origin, dropped)
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
