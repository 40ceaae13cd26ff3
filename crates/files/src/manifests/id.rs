//! The identity of an object.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use kube_yaml::Node;
use setguard_core::object::namespace_or_default;

use super::objects::filled;

/// Identifies an object. The API server converts between the versions of a group, so they don't matter.
#[derive(Clone, Debug, Default)]
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
        let name = filled(metadata, "name");
        ObjectId {
            is_generated: name.is_none(),
            api_version: filled(Some(node), "apiVersion").unwrap_or_default(),
            kind: filled(Some(node), "kind").unwrap_or_default(),
            namespace: namespace_or_default(filled(metadata, "namespace").as_deref()).to_owned(),
            name: name.or_else(|| filled(metadata, "generateName")).unwrap_or_default(),
        }
    }

    fn key(&self) -> (&str, &str, &str, &str, bool) {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        (group, &self.kind, &self.namespace, &self.name, self.is_generated)
    }
}

impl PartialEq for ObjectId {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ObjectId {}

impl Hash for ObjectId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The form for people: `DaemonSet kube-system/agent`.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.kind, self.namespace, self.name)
    }
}
