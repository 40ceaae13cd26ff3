//! The objects of a document.

use std::borrow::Cow;

use crate::{
    inventory::item::Item,
    kubernetes::resource::{RESOURCES, Resource},
    yaml::{Document, Key, Mark, Node, Problem, Value},
};

/// An object that is to be judged.
#[derive(Debug)]
pub(crate) struct Manifest<'a> {
    /// What it says it is. `None` for a kind of ours in a version that is not served.
    pub(crate) resource: Option<&'static Resource>,
    /// Its tree.
    pub(crate) node: Node<'a>,
    /// What was wrong with its text: fields as written, and where.
    pub(crate) problems: Vec<Problem>,
    /// What stands before its fields in the document: `items[3].`.
    pub(crate) prefix: String,
}

/// The objects of a document.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    /// Those that are to be judged.
    pub(crate) manifests: Vec<Manifest<'a>>,
    /// Those beside them that others are judged by.
    pub(crate) related: Vec<Node<'a>>,
    /// How many there are that are not judged.
    pub(crate) others: usize,
}

/// The objects of a document.
pub(crate) fn manifests(document: Document<'_>) -> Found<'_> {
    let mut found = Found::default();
    found.take(document.root, String::new(), None);
    // Problems of the text belong to the object that they are in; those of no object of ours are
    // nobody's.
    for problem in document.problems {
        let field = problem.field.to_string();
        let mut manifests = found.manifests.iter_mut();
        if let Some(manifest) = manifests.find(|manifest| field.starts_with(&manifest.prefix)) {
            manifest.problems.push(problem);
        }
    }
    found
}

/// What the items of a list are, when they need not say so themselves.
type Of<'k> = Option<(&'k str, &'k str)>;

impl<'a> Found<'a> {
    fn take(&mut self, mut node: Node<'a>, prefix: String, of: Of<'_>) {
        if let Some((api_version, kind)) = of {
            default_to(&mut node, "apiVersion", api_version.to_owned());
            default_to(&mut node, "kind", kind.to_owned());
        }
        let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if let Some(resource) = Resource::of(api_version, kind) {
            self.push(Some(resource), node, prefix);
        } else if RESOURCES.iter().any(|r| r.kind.as_str() == kind && is_old(api_version)) {
            self.push(None, node, prefix);
        } else if let Some(of) = list_of(api_version, kind) {
            let of = of.map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned()));
            if let Value::Map(entries) = node.value
                && let Some((_, items)) = entries.into_iter().find(|(key, _)| key.name == "items")
                && let Value::Seq(items) = items.value
            {
                for (i, item) in items.into_iter().enumerate() {
                    let of = of.as_ref().map(|(version, kind)| (version.as_str(), kind.as_str()));
                    self.take(item, format!("{prefix}items[{i}]."), of);
                }
            }
        } else if !kind.is_empty() {
            self.others += 1;
            if Item::is_of_interest(api_version, kind) {
                self.related.push(node);
            }
        }
    }

    fn push(&mut self, resource: Option<&'static Resource>, node: Node<'a>, prefix: String) {
        self.manifests.push(Manifest { resource, node, problems: Vec::new(), prefix });
    }
}

/// Versions in which our kinds were served once. Others may have a DaemonSet of their own.
fn is_old(api_version: &str) -> bool {
    matches!(api_version, "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2")
}

/// For a list: what its items are, if they need not say so.
#[allow(clippy::option_option)]
fn list_of<'k>(api_version: &'k str, kind: &'k str) -> Option<Of<'k>> {
    if (api_version, kind) == ("v1", "List") {
        return Some(None);
    }
    let item = kind.strip_suffix("List")?;
    let is_known =
        Resource::of(api_version, item).is_some() || Item::is_of_interest(api_version, item);
    is_known.then_some(Some((api_version, item)))
}

fn default_to(node: &mut Node<'_>, name: &'static str, value: String) {
    let mark = Mark { width: 0, ..node.mark };
    if node.get(name).is_none()
        && let Value::Map(entries) = &mut node.value
    {
        let key = Key { name: Cow::Borrowed(name), mark };
        entries.push((key, Node { value: Value::Str(value.into()), mark }));
    }
}
