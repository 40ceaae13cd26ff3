//! The objects of a document.

use std::borrow::Cow;

use crate::{
    subject::{RESOURCES, Resource},
    yaml::{Document, Key, Mark, Node, Problem, Value},
};

/// An object that is to be judged.
#[derive(Debug)]
pub(super) struct Manifest<'a> {
    /// What it says it is. `None` for a kind of ours in a version that is not served.
    pub(super) resource: Option<&'static Resource>,
    /// Its tree.
    pub(super) node: Node<'a>,
    /// What was wrong with its text: fields as written, and where.
    pub(super) problems: Vec<Problem>,
    /// What stands before its fields in the document: `items[3].`.
    pub(super) prefix: String,
}

/// The objects of a document that are to be judged, and how many there are beside them.
pub(super) fn manifests(document: Document<'_>) -> (Vec<Manifest<'_>>, usize) {
    let mut found = Found { manifests: Vec::new(), others: 0 };
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
    (found.manifests, found.others)
}

struct Found<'a> {
    manifests: Vec<Manifest<'a>>,
    others: usize,
}

impl<'a> Found<'a> {
    /// `of`: what the items of this list are, when they need not say so themselves.
    fn take(&mut self, mut node: Node<'a>, prefix: String, of: Option<&'static Resource>) {
        if let Some(of) = of {
            default_to(&mut node, "apiVersion", of.api_version());
            default_to(&mut node, "kind", of.kind.as_str().to_owned());
        }
        let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if let Some(resource) = Resource::of(api_version, kind) {
            self.push(Some(resource), node, prefix);
        } else if RESOURCES.iter().any(|r| r.kind.as_str() == kind && is_old(api_version)) {
            self.push(None, node, prefix);
        } else if let Some(of) = list_of(api_version, kind) {
            if let Value::Map(entries) = node.value
                && let Some((_, items)) = entries.into_iter().find(|(key, _)| key.name == "items")
                && let Value::Seq(items) = items.value
            {
                for (i, item) in items.into_iter().enumerate() {
                    self.take(item, format!("{prefix}items[{i}]."), of);
                }
            }
        } else if !kind.is_empty() {
            self.others += 1;
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
fn list_of(api_version: &str, kind: &str) -> Option<Option<&'static Resource>> {
    if (api_version, kind) == ("v1", "List") {
        return Some(None);
    }
    Resource::of(api_version, kind.strip_suffix("List")?).map(Some)
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
