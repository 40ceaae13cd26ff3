//! The manifests as they were (`--against`).

use std::collections::HashMap;

use crate::{
    inventory::{Inventory, item::Item},
    manifests::{
        document::{self, Manifest},
        source::Source,
    },
    object::{Object, schema},
    yaml::{self, Node},
};

/// Which object it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// `default` where the object does not say: that is where kubectl would put it.
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The server is to end the name: what is made of it is always new.
    pub(crate) is_generated: bool,
}

impl Id {
    /// What a document says it is.
    pub(crate) fn of(node: &Node<'_>) -> Id {
        let metadata = node.get("metadata");
        let text = |node: Option<&Node<'_>>, key| {
            let text = node.and_then(|node| node.get(key)).and_then(Node::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let name = text(metadata, "name");
        Id {
            is_generated: name.is_none(),
            api_version: text(Some(node), "apiVersion").unwrap_or_default(),
            kind: text(Some(node), "kind").unwrap_or_default(),
            namespace: text(metadata, "namespace").unwrap_or_else(|| "default".to_owned()),
            name: name.or_else(|| text(metadata, "generateName")).unwrap_or_default(),
        }
    }
}

/// The objects as they were.
#[derive(Debug, Default)]
pub(crate) struct Previous {
    /// As JSON.
    objects: HashMap<Id, String>,
    /// As they bore on each other.
    pub(crate) inventory: Inventory,
}

impl Previous {
    /// Takes the objects of a source up. What cannot be read is returned in words.
    pub(crate) fn add(&mut self, source: &Source) -> Vec<String> {
        let mut complaints = Vec::new();
        for document in yaml::documents(source.text()) {
            match document {
                Ok(document) => {
                    let found = document::manifests(document);
                    for node in found.related {
                        Item::of_json(&node.to_json()).map(|item| self.inventory.add(item));
                    }
                    for manifest in found.manifests {
                        self.insert(&manifest);
                    }
                }
                Err(problem) => {
                    let (name, line) = (source.name(), problem.mark.line);
                    complaints.push(format!("{name}:{line}: {}", problem.message));
                }
            }
        }
        complaints
    }

    fn insert(&mut self, Manifest { resource, node, .. }: &Manifest<'_>) {
        if let Some(resource) = resource {
            let json = schema::read(node, resource).json(node);
            if let Ok(object) = Object::parse(resource, &json) {
                Item::of(&object).map(|item| self.inventory.add(item));
            }
            self.objects.insert(Id::of(node), json);
        }
    }

    /// The object as it was.
    pub(crate) fn get(&self, id: &Id) -> Option<&str> {
        self.objects.get(id).filter(|_| !id.is_generated).map(String::as_str)
    }
}
