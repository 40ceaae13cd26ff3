//! The objects of a document: the document itself, or the items of the lists in it.

use std::borrow::Cow;

use kube_yaml::{Key, Mark, Node, Value};
use setguard_core::finding::{Field, Path};

/// An object in a document.
#[derive(Debug)]
pub struct ManifestObject<'a> {
    /// The tree of the object. An item of a typed list, such as a `DaemonSetList`, may omit `apiVersion` and `kind`;
    /// they are filled in here.
    pub node: Node<'a>,
    /// The object's path in the document: empty for the document itself, otherwise a path such as `items[3]`.
    pub at: Field,
}

impl<'a> ManifestObject<'a> {
    /// Returns the object's `apiVersion`; empty if it has none.
    pub fn api_version(&self) -> &str {
        text_of(&self.node, "apiVersion")
    }

    /// Returns the object's `kind`; empty if it has none.
    pub fn kind(&self) -> &str {
        text_of(&self.node, "kind")
    }

    /// Returns all objects of a document, in the order of the text.
    pub fn all(root: Node<'a>) -> Vec<Self> {
        let mut objects = Vec::new();
        collect(root, None, &mut objects);
        objects
    }
}

fn collect<'a>(mut node: Node<'a>, at: Option<&Path<'_>>, objects: &mut Vec<ManifestObject<'a>>) {
    let (api_version, kind) =
        (text_of(&node, "apiVersion").to_owned(), text_of(&node, "kind").to_owned());
    // kubectl treats every object with a kind and items as a list.
    if !kind.is_empty()
        && let Some(items) = take_items(&mut node)
    {
        let kind = kind.strip_suffix("List").unwrap_or(&kind);
        let path = at.map_or_else(|| Path::new("items"), |at| at.child("items"));
        for (i, mut item) in items.into_iter().enumerate() {
            // The items of a plain `List` can be of any kind, and declare it.
            if !kind.is_empty() {
                set_default(&mut item, "apiVersion", &api_version);
                set_default(&mut item, "kind", kind);
            }
            collect(item, Some(&path.index(i)), objects);
        }
    } else {
        objects.push(ManifestObject { node, at: at.map(Path::to_field).unwrap_or_default() });
    }
}

pub(super) fn text_of<'n>(node: &'n Node<'_>, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or_default()
}

/// Returns a text that isn't empty.
pub(super) fn filled(node: Option<&Node<'_>>, key: &str) -> Option<String> {
    let text = text_of(node?, key);
    (!text.is_empty()).then(|| text.to_owned())
}

fn take_items<'a>(node: &mut Node<'a>) -> Option<Vec<Node<'a>>> {
    let Value::Map(entries) = &mut node.value else { return None };
    let (_, items) = entries.iter_mut().find(|(key, _)| key.name == "items")?;
    match &mut items.value {
        Value::Seq(items) => Some(std::mem::take(items)),
        _ => None,
    }
}

/// Sets the namespace of an object that has none. Cluster-scoped objects are identified by name alone.
pub(super) fn set_namespace(node: &mut Node<'_>, namespace: &str) {
    let Value::Map(entries) = &mut node.value else { return };
    let metadata = entries.iter_mut().find(|(key, _)| key.name == "metadata");
    if let Some((_, metadata)) = metadata
        && text_of(metadata, "namespace").is_empty()
    {
        if let Value::Map(entries) = &mut metadata.value {
            entries.retain(|(key, _)| key.name != "namespace");
        }
        set_default(metadata, "namespace", namespace);
    }
}

fn set_default(node: &mut Node<'_>, name: &'static str, value: &str) {
    let mark = Mark { width: 0, ..node.mark };
    if node.get(name).is_none()
        && let Value::Map(entries) = &mut node.value
    {
        let key = Key { name: Cow::Borrowed(name), mark };
        entries.push((key, Node { value: Value::Str(value.to_owned().into()), mark }));
    }
}
