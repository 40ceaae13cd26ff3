//! Namespaces whose DaemonSets are brought to the control plane.

use std::collections::BTreeSet;

use crate::{
    object::marks::CONTROL_PLANE_LABEL,
    yaml::{self, Node, Value},
};

/// The namespaces that carry the label, as far as manifests tell. In a cluster they come by way of
/// a webhook's selector.
#[derive(Clone, Debug, Default)]
pub struct Namespaces(BTreeSet<String>);

impl Namespaces {
    /// Takes up the Namespace objects of a stream of documents, also those in a List.
    pub fn add(&mut self, text: &str) {
        // Rarely any asks, and then nothing needs to be read.
        if text.contains(CONTROL_PLANE_LABEL) {
            for document in yaml::documents(text).flatten() {
                self.take(&document.root);
            }
        }
    }

    /// Whether a namespace asks.
    pub fn ask(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    fn take(&mut self, node: &Node<'_>) {
        let metadata = node.get("metadata");
        let label = metadata.and_then(|it| it.get("labels")?.get(CONTROL_PLANE_LABEL)?.as_str());
        let name = metadata.and_then(|it| it.get("name")?.as_str());
        match (node.get("kind").and_then(Node::as_str), label, name) {
            (Some("Namespace"), Some("true"), Some(name)) => {
                self.0.insert(name.to_owned());
            }
            (Some(kind), ..) if kind.ends_with("List") => {
                if let Some(Value::Seq(items)) = node.get("items").map(|items| &items.value) {
                    items.iter().for_each(|item| self.take(item));
                }
            }
            _ => {}
        }
    }
}
