//! What `check` looks at in a document.

use super::objects::Object;
use crate::{
    finding::Field,
    inventory::item::Item,
    kubernetes::resource::{RESOURCES, Resource},
    yaml::{Document, Node, Problem},
};

/// An object that is to be judged.
#[derive(Debug)]
pub(crate) struct Manifest<'a> {
    /// What it says it is. `None` for a DaemonSet or StatefulSet in a version that no cluster serves
    /// any more.
    pub(crate) resource: Option<&'static Resource>,
    /// Its tree.
    pub(crate) node: Node<'a>,
    /// What is wrong with its text. Fields are the object's, not the document's.
    pub(crate) problems: Vec<Problem>,
    /// Where it stands in the document.
    at: Field,
}

/// The objects of a document, sorted by what is done with them.
#[derive(Debug, Default)]
pub(crate) struct Objects<'a> {
    /// Those that are to be judged.
    pub(crate) manifests: Vec<Manifest<'a>>,
    /// Those that are not judged themselves, but that others are judged by.
    pub(crate) related: Vec<Node<'a>>,
    /// How many are not judged.
    pub(crate) others: usize,
}

impl<'a> Objects<'a> {
    /// The objects of a document.
    pub(crate) fn of(document: Document<'a>) -> Self {
        let mut sorted = Objects::default();
        for object in Object::all(document.root) {
            sorted.add(object);
        }
        // What is wrong with the text of an object that is not judged is nobody's business here.
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

    fn add(&mut self, object: Object<'a>) {
        let (api_version, kind) = (object.api_version(), object.kind());
        let resource = Resource::of(api_version, kind);
        if resource.is_some() || is_no_longer_served(api_version, kind) {
            let Object { node, at } = object;
            self.manifests.push(Manifest { resource, node, problems: Vec::new(), at });
        } else if !kind.is_empty() {
            self.others += 1;
            if Item::is_of_interest(api_version, kind) {
                self.related.push(object.node);
            }
        }
    }
}

/// Versions in which DaemonSets and StatefulSets were served once. Other groups may have kinds of
/// the same name.
fn is_no_longer_served(api_version: &str, kind: &str) -> bool {
    matches!(api_version, "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2")
        && RESOURCES.iter().any(|resource| resource.kind.as_str() == kind)
}
