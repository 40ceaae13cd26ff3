//! Namespaces whose DaemonSets get the control-plane tolerations.

use setguard_core::object::annotations::CONTROL_PLANE_LABEL;

use super::objects::ManifestObject;
use crate::manifests::prelude::*;

/// The namespaces that have the label in the manifests. In a cluster, a webhook's `namespaceSelector` selects them.
#[derive(Clone, Debug, Default)]
pub struct Namespaces(BTreeSet<String>);

impl Namespaces {
    /// Adds the Namespace objects of a stream of documents, including those in a List.
    pub fn add(&mut self, text: &str) {
        if Self::may_be_in(text) {
            let objects = kube_yaml::documents(text).flatten();
            for object in objects.flat_map(|document| ManifestObject::all(document.root)) {
                let metadata = object.node.get("metadata");
                let label = metadata.and_then(|it| it.get("labels")?.get(CONTROL_PLANE_LABEL));
                if object.kind() == "Namespace" && label.and_then(Node::as_str) == Some("true") {
                    let name = metadata.and_then(|it| it.get("name")?.as_str());
                    self.0.extend(name.map(str::to_owned));
                }
            }
        }
    }

    /// Returns whether a text may contain the label. The label is rare, and without it no parsing is needed.
    pub fn may_be_in(text: &str) -> bool {
        memchr::memmem::find(text.as_bytes(), CONTROL_PLANE_LABEL.as_bytes()).is_some()
    }

    /// Returns whether a namespace has the label.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Returns a note about a new object that may be the one in this namespace.
pub fn hint(namespace: &str) -> String {
    format!(
        "{namespace} has one with this name; -n {namespace} is the namespace of manifests that set none"
    )
}
