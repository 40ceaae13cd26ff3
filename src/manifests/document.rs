//! The objects of a document that `check` looks at.

use super::objects::ManifestObject;
use crate::{
    finding::Field,
    inventory::item::Item,
    kubernetes::resource::{RESOURCES, Resource},
    yaml::{Document, Node, Problem},
};

/// An object to judge.
#[derive(Debug)]
pub(crate) struct Manifest<'a> {
    /// The resource that it declares. `None` for a DaemonSet or StatefulSet in an API version that
    /// no cluster serves any more.
    pub(crate) resource: Option<&'static Resource>,
    /// Its tree.
    pub(crate) node: Node<'a>,
    /// Problems with its text. Their fields are relative to the object, not to the document.
    pub(crate) problems: Vec<Problem>,
    /// Its path in the document.
    at: Field,
}

/// The objects of a document, sorted by what is done with them.
#[derive(Debug, Default)]
pub(crate) struct DocumentObjects<'a> {
    /// Objects to judge.
    pub(crate) manifests: Vec<Manifest<'a>>,
    /// Objects that are not judged themselves, but that rules need for judging others.
    pub(crate) related: Vec<Node<'a>>,
    /// How many objects are not judged.
    pub(crate) others: usize,
}

impl<'a> DocumentObjects<'a> {
    /// The objects of a document.
    pub(crate) fn of(document: Document<'a>) -> Self {
        let mut sorted = DocumentObjects::default();
        for object in ManifestObject::all(document.root) {
            sorted.add(object);
        }
        // Problems with the text of an object that is not judged are dropped.
        for mut problem in document.problems {
            for manifest in &mut sorted.manifests {
                if let Some(field) = problem.field.strip_prefix(&manifest.at) {
                    problem.field = field;
                    manifest.problems.push(problem);
                    break;
                }
            }
        }
        sorted
    }

    fn add(&mut self, object: ManifestObject<'a>) {
        let (api_version, kind) = (object.api_version(), object.kind());
        let resource = Resource::of(api_version, kind);
        if resource.is_some() || is_no_longer_served(api_version, kind) {
            let ManifestObject { node, at } = object;
            self.manifests.push(Manifest { resource, node, problems: Vec::new(), at });
        } else if !kind.is_empty() {
            self.others += 1;
            if Item::is_of_interest(api_version, kind) {
                self.related.push(object.node);
            }
        }
    }
}

/// Whether this is a DaemonSet or StatefulSet in an API version that was served once. Other groups
/// may have kinds of the same name.
fn is_no_longer_served(api_version: &str, kind: &str) -> bool {
    matches!(api_version, "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2")
        && RESOURCES.iter().any(|resource| resource.kind.as_str() == kind)
}
