//! Which object a manifest is.

use crate::{object::namespace_or_default, yaml::Node};

/// Which object a manifest is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectId {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// `default` where the object does not say: that is where kubectl would put it.
    pub namespace: String,
    /// Its name, or the prefix of the name that the API server will make.
    pub name: String,
    /// Whether the API server makes the name: such an object is always a new one.
    pub is_generated: bool,
}

impl ObjectId {
    /// What a manifest says it is.
    pub(crate) fn of(node: &Node<'_>) -> ObjectId {
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
