//! The changes that a kustomization makes to its resources. The file of such a resource isn't the applied object.

use setguard_core::finding::{ClusterAssumption, Field, Finding, Step as FieldStep};

use crate::manifests::prelude::*;

#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    pub(crate) folder: PathBuf,
    /// `None` for any kind or name.
    kind: Option<String>,
    name: Option<String>,
    fields: Vec<Vec<Step>>,
    /// It gives each set of Kubernetes a selector, and the same labels to its pods.
    pub(super) completes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    /// A list item, by name or index if the patch has one.
    Item(Option<Key>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Name(String),
    Index(usize),
}

impl Patch {
    /// `read` returns the text of a file. A patch without a text changes nothing.
    pub(super) fn all(
        folder: &Path,
        root: &Node<'_>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Vec<Patch> {
        let any = Patch { folder: folder.to_owned(), ..Patch::default() };
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
                if let Some(text) = text.map(str::to_owned).or_else(read) {
                    all.extend(target.of_text(&text));
                }
            }
        }
        for replacement in items(root.get("replacements")) {
            for target in items(replacement.get("targets")) {
                let paths = items(target.get("fieldPaths")).filter_map(Node::as_str);
                let fields = paths.map(|path| steps(path.split('.'))).collect();
                all.push(Patch { fields, ..any.select(target.get("select")) });
            }
        }
        let has_labels = |it: Option<&Node<'_>>| {
            it.is_some_and(|it| matches!(&it.value, Value::Map(labels) if !labels.is_empty()))
        };
        let include = |key: &str| {
            items(root.get("labels")).any(|it| is_true(it.get(key)) && has_labels(it.get("pairs")))
        };
        let completes = include("includeSelectors") || has_labels(root.get("commonLabels"));
        let labels = completes || include("includeTemplates");
        let set = [("spec.selector", completes), (TEMPLATE_LABELS, labels)];
        let set = set.iter().filter(|(_, is_set)| *is_set);
        let fields: Vec<_> = set.map(|(field, _)| steps(field.split('.'))).collect();
        if !fields.is_empty() {
            all.push(Patch { fields, completes, ..any });
        }
        all
    }

    /// Returns the patch of a component, as a part of the kustomization that uses it.
    pub(super) fn used_by(&self, folder: &Path) -> Patch {
        Patch { folder: folder.to_owned(), ..self.clone() }
    }

    /// Returns whether the patch sets the field of a finding, a part of the field, or a parent.
    pub(crate) fn sets(
        &self,
        kind: &str,
        name: &str,
        node: Option<&Node<'_>>,
        finding: &Finding,
    ) -> bool {
        // A finding about the whole Pod is often about something that is missing.
        let is_large =
            |field: &str| matches!(field, "" | "spec" | "spec.template" | "spec.template.spec");
        if !self.is_of(kind, name) || is_large(&finding.field.to_string()) {
            return false;
        }
        if finding.assumption == Some(ClusterAssumption::TemplateLabels) {
            return self.fields.contains(&steps(TEMPLATE_LABELS.split('.')));
        }
        let field = steps_of(&finding.field, node);
        self.fields.iter().any(|set| set.iter().zip(&field).all(|(set, step)| set.covers(step)))
    }

    pub(crate) fn is_of(&self, kind: &str, name: &str) -> bool {
        // Patterns of names aren't interpreted, and a kustomization can extend the names.
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
        let documents = kube_yaml::documents(text).flatten();
        documents
            .map(|document| {
                let mut fields = Vec::new();
                let root = &document.root;
                if let Value::Seq(operations) = &root.value {
                    let paths = operations.iter().filter_map(|it| str_of(it, "path"));
                    fields.extend(paths.map(|path| steps(path.split('/').skip(1))));
                } else {
                    leaves(root, &mut Vec::new(), &mut fields);
                }
                let own = self.select(Some(root));
                let name = root.get("metadata").and_then(|it| str_of(it, "name"));
                Patch {
                    folder: self.folder.clone(),
                    kind: self.kind.clone().or(own.kind),
                    name: self.name.clone().or(name.map(str::to_owned)),
                    fields,
                    ..own
                }
            })
            .collect()
    }
}

impl Step {
    fn covers(&self, (name, index): &ObjectStep<'_>) -> bool {
        match (self, index) {
            (Step::Name(own), None) => name.is_some_and(|name| own == name),
            (Step::Item(key), Some(index)) => match key {
                None => true,
                Some(Key::Index(own)) => own == index,
                Some(Key::Name(own)) => name.is_some_and(|name| own == name),
            },
            _ => false,
        }
    }
}

/// The name of a field, or the index of an item and its name.
type ObjectStep<'a> = (Option<&'a str>, Option<usize>);

/// List items get their names from the object.
fn steps_of<'n>(field: &'n Field, object: Option<&'n Node<'_>>) -> Vec<ObjectStep<'n>> {
    let mut at = object;
    let steps = field.steps().map(|step| match step {
        FieldStep::Child(name) | FieldStep::Key(name) => {
            at = at.and_then(|it| it.get(name));
            (Some(name), None)
        }
        FieldStep::Index(index) => {
            at = items(at).nth(index);
            (at.and_then(|it| str_of(it, "name")), Some(index))
        }
    });
    steps.collect()
}

/// Collects the paths of the values in a node. A directive such as `$patch: delete` stands for its parent.
fn leaves(node: &Node<'_>, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                if key.name.starts_with('$') {
                    found.push(path.clone());
                    continue;
                }
                path.push(Step::Name(key.name.to_string()));
                leaves(value, path, found);
                path.pop();
            }
        }
        Value::Seq(items) if !items.is_empty() => {
            for item in items {
                path.push(Step::Item(str_of(item, "name").map(|name| Key::Name(name.to_owned()))));
                leaves(item, path, found);
                path.pop();
            }
        }
        _ => found.push(path.clone()),
    }
}

/// The path is from a JSON patch or a replacement.
fn steps<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<Step> {
    let step = |part: &str| match part {
        "-" | "*" => Step::Item(None),
        part if part.starts_with('[') => {
            let name = part.trim_matches(['[', ']']).strip_prefix("name=");
            Step::Item(name.map(|name| Key::Name(name.to_owned())))
        }
        part => match part.parse() {
            Ok(index) => Step::Item(Some(Key::Index(index))),
            Err(_) => Step::Name(part.replace("~1", "/").replace("~0", "~")),
        },
    };
    parts.map(step).collect()
}

const TEMPLATE_LABELS: &str = "spec.template.metadata.labels";

fn is_true(node: Option<&Node<'_>>) -> bool {
    node.is_some_and(|it| it.value == Value::Bool(true))
}

fn str_of<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::as_str)
}

/// Returns the items of a list; none for any other value.
pub fn items<'n, 'a>(node: Option<&'n Node<'a>>) -> impl Iterator<Item = &'n Node<'a>> {
    let items = match node.map(|node| &node.value) {
        Some(Value::Seq(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter()
}
