//! The identity of an object.

use std::fmt;

use kube_yaml::Node;
use setguard_core::object::namespace_or_default;

/// Identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId {
    /// The object's `apiVersion`.
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object's namespace; `default` if it sets none, because kubectl would put it there.
    pub namespace: String,
    /// The object's name, or the prefix of the name that the API server will generate.
    pub name: String,
    /// Whether the API server generates the name: such an object is always new.
    pub is_generated: bool,
}

impl ObjectId {
    /// Returns the identity that a manifest declares.
    pub fn of(node: &Node<'_>) -> ObjectId {
        let metadata = node.get("metadata");
        let text = |node: Option<&Node<'_>>, key| {
            let text = node.and_then(|node| node.get(key)).and_then(Node::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let name = text(metadata, "name");
        ObjectId {
            is_generated: name.is_none(),
            api_version: text(Some(node), "apiVersion").unwrap_or_default(),
            kind: text(Some(node), "kind").unwrap_or_default(),
            namespace: namespace_or_default(text(metadata, "namespace").as_deref()).to_owned(),
            name: name.or_else(|| text(metadata, "generateName")).unwrap_or_default(),
        }
    }
}

/// The form for people: `DaemonSet kube-system/agent`.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.kind, self.namespace, self.name)
    }
}
