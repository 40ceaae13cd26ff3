//! The changes that a kustomization makes to its resources. The file of such a resource isn't the
//! object that is applied.

use std::path::{Path, PathBuf};

use crate::yaml::{self, Node, Value};

/// A change that a kustomization makes to some of its resources.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    /// The folder of the kustomization.
    pub(crate) folder: PathBuf,
    /// The kind and the name of the objects; any if not given.
    kind: Option<String>,
    name: Option<String>,
    /// The fields that it changes; `None` if the patch cannot be read.
    fields: Option<Vec<FieldNames>>,
}

/// The names in the path of a field, without the indexes of lists.
type FieldNames = Vec<String>;

impl Patch {
    /// Returns the changes of a kustomization. `read` returns the text of a file.
    pub(super) fn all(
        folder: &Path,
        root: &Node<'_>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Vec<Patch> {
        let any = Patch { folder: folder.to_owned(), kind: None, name: None, fields: None };
        let mut all = Vec::new();
        for key in ["patches", "patchesJson6902", "patchesStrategicMerge"] {
            for item in items(root.get(key)) {
                let (text, path) = match item.as_str() {
                    Some(text) if text.contains('\n') => (Some(text), None),
                    path @ Some(_) => (None, path),
                    None => (str_of(item, "patch"), str_of(item, "path")),
                };
                let target = any.select(item.get("target"));
                let read = || read(&folder.join(path?));
                match text.map(str::to_owned).or_else(read) {
                    Some(text) => all.extend(target.of_text(&text)),
                    None => all.push(target),
                }
            }
        }
        for replacement in items(root.get("replacements")) {
            if replacement.get("path").is_some() {
                all.push(any.clone());
            }
            for target in items(replacement.get("targets")) {
                let paths = items(target.get("fieldPaths")).filter_map(Node::as_str);
                let fields = paths.map(|path| names(path.split('.'))).collect();
                all.push(Patch { fields: Some(fields), ..any.select(target.get("select")) });
            }
        }
        let selectors = items(root.get("labels")).any(|it| is_true(it.get("includeSelectors")));
        if selectors || root.get("commonLabels").is_some() {
            let fields = ["spec.selector", "spec.template.metadata.labels"];
            let fields = fields.map(|field| names(field.split('.'))).to_vec();
            all.push(Patch { fields: Some(fields), ..any });
        } else if items(root.get("labels")).any(|it| is_true(it.get("includeTemplates"))) {
            let fields = vec![names("spec.template.metadata.labels".split('.'))];
            all.push(Patch { fields: Some(fields), ..any });
        }
        all
    }

    /// Returns the same patch of a component, as a part of the kustomization that uses it.
    pub(super) fn used_by(&self, folder: &Path) -> Patch {
        Patch { folder: folder.to_owned(), ..self.clone() }
    }

    /// Returns whether the patch may remove a fault from a field of an object. A fault that concerns
    /// other fields too is given by the first of their names alone.
    pub(crate) fn reaches(&self, kind: &str, name: &str, field: &str) -> bool {
        let Some(fields) = &self.fields else { return self.is_of(kind, name) };
        let field = names(above_keys(field).split(['.', '[', ']']));
        let is_near = |other: &FieldNames| other.iter().zip(&field).all(|(a, b)| a == b);
        self.is_of(kind, name) && fields.iter().any(is_near)
    }

    fn is_of(&self, kind: &str, name: &str) -> bool {
        // A pattern of names isn't interpreted, and a kustomization can add to the names.
        let is_name = |it: &String| {
            it.contains(name) || it.contains(|c: char| !c.is_alphanumeric() && c != '-')
        };
        self.kind.as_ref().is_none_or(|it| it == kind) && self.name.as_ref().is_none_or(is_name)
    }

    fn select(&self, target: Option<&Node<'_>>) -> Patch {
        let of = |key| target.and_then(|it| str_of(it, key)).map(str::to_owned);
        Patch { kind: of("kind"), name: of("name"), ..self.clone() }
    }

    fn of_text(&self, text: &str) -> Vec<Patch> {
        let documents = yaml::documents(text).flatten();
        let mut patches: Vec<_> = documents
            .map(|document| {
                let mut fields = Vec::new();
                let root = &document.root;
                if let Value::Seq(operations) = &root.value {
                    let paths = operations.iter().filter_map(|it| str_of(it, "path"));
                    fields.extend(paths.map(|path| names(path.split('/'))));
                } else {
                    leaves(root, &mut Vec::new(), &mut fields);
                }
                let own = self.select(Some(root));
                let name = root.get("metadata").and_then(|it| str_of(it, "name"));
                Patch {
                    folder: self.folder.clone(),
                    kind: self.kind.clone().or(own.kind),
                    name: self.name.clone().or(name.map(str::to_owned)),
                    fields: Some(fields),
                }
            })
            .collect();
        if patches.is_empty() {
            patches.push(self.clone());
        }
        patches
    }
}

/// Collects the paths of the values in a node. A directive such as `$patch: delete` concerns what
/// contains it.
fn leaves(node: &Node<'_>, path: &mut FieldNames, found: &mut Vec<FieldNames>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                if key.name.starts_with('$') {
                    found.push(path.clone());
                    continue;
                }
                path.push(key.name.to_string());
                leaves(value, path, found);
                path.pop();
            }
        }
        Value::Seq(items) if !items.is_empty() => {
            items.iter().for_each(|item| leaves(item, path, found));
        }
        _ => found.push(path.clone()),
    }
}

fn names<'a>(parts: impl Iterator<Item = &'a str>) -> FieldNames {
    let is_index = |part: &str| {
        matches!(part, "-" | "*")
            || part.starts_with('[')
            || part.bytes().all(|c| c.is_ascii_digit())
    };
    parts.filter(|part| !is_index(part)).map(str::to_owned).collect()
}

/// Returns the part of a field before its first key in brackets, such as `spec.resources` of
/// `spec.resources[storage]`: the API server leaves out names between them.
fn above_keys(field: &str) -> &str {
    let is_key = |(at, _): &(usize, &str)| {
        !field[at + 1..].starts_with(|first: char| first.is_ascii_digit())
    };
    field.match_indices('[').find(is_key).map_or(field, |(at, _)| &field[..at])
}

fn is_true(node: Option<&Node<'_>>) -> bool {
    node.is_some_and(|it| it.value == Value::Bool(true))
}

fn str_of<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::as_str)
}

/// Returns the items of a list; none if it isn't one.
pub(crate) fn items<'n, 'a>(node: Option<&'n Node<'a>>) -> impl Iterator<Item = &'n Node<'a>> {
    let items = match node.map(|node| &node.value) {
        Some(Value::Seq(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter()
}
