//! The tree that a document becomes: values that know where they stand.

use std::borrow::Cow;

use crate::finding::{Field, Step};

/// How deep mappings and lists may be nested: far deeper than any manifest, and shallow enough
/// for every stack and for `serde_json`'s own limit of 128.
pub const MAX_DEPTH: usize = 100;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Line, from 1 on.
    pub line: usize,
    /// Column in characters, from 1 on.
    pub column: usize,
    /// How many characters of the line belong to it; 0 where that is not known.
    pub width: usize,
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// What it is.
    pub value: Value<'a>,
    /// Where it begins.
    pub mark: Mark,
}

/// A key of a mapping, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The key, as text.
    pub name: Cow<'a, str>,
    /// Where it begins.
    pub mark: Mark,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond `i64`.
    UInt(u64),
    /// Any other number; never infinite, never NaN.
    Float(f64),
    /// Text.
    Str(Cow<'a, str>),
    /// A list.
    Seq(Vec<Node<'a>>),
    /// A mapping, in the order of the text. No key is there twice.
    Map(Vec<(Key<'a>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// What tells this node from all others, as long as the tree stays where it is.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The value of a key of this mapping.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entry(key).map(|(_, node)| node)
    }

    fn entry(&self, key: &str) -> Option<&(Key<'a>, Node<'a>)> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(k, _)| k.name == key),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Where a field stands, or its nearest parent that exists: the value where it fits on a line
    /// (a scalar), the key where it does not (a mapping, a list), the first line of an element.
    pub fn locate(&self, field: &Field) -> Mark {
        self.find(field).mark
    }

    /// Where the key of a field stands; for an element and for what is missing, as [`Node::locate`].
    pub fn locate_key(&self, field: &Field) -> Mark {
        let place = self.find(field);
        place.key.unwrap_or(place.mark)
    }

    fn find(&self, field: &Field) -> Place<'_, 'a> {
        let mut at = Place { mark: self.mark, key: None, node: self };
        for step in field.steps() {
            let (next, arrived) = at.step(step);
            at = next;
            if !arrived {
                break;
            }
        }
        at
    }
}

/// Where the search for a field has come to.
#[derive(Clone, Copy)]
struct Place<'n, 'a> {
    mark: Mark,
    /// The place of its key, if it has one.
    key: Option<Mark>,
    node: &'n Node<'a>,
}

impl<'n, 'a> Place<'n, 'a> {
    /// One step on, and whether the field was there; if not, as far as it went.
    fn step(self, step: Step<'_>) -> (Self, bool) {
        match step {
            Step::Index(index) => match &self.node.value {
                Value::Seq(items) => match items.get(index) {
                    Some(node) => (Place { mark: node.mark, key: None, node }, true),
                    None => (self, false),
                },
                _ => (self, false),
            },
            Step::Child(name) => self.child(name),
            Step::Key(name) => match self.into(name) {
                Some(next) => (next, true),
                // Kubernetes writes `resources[storage]` for `resources.requests.storage`.
                None => match self.into("requests").and_then(|requests| requests.into(name)) {
                    Some(next) => (next, true),
                    None => (self, false),
                },
            },
        }
    }

    fn child(self, name: &str) -> (Self, bool) {
        if let Some(next) = self.into(name) {
            return (next, true);
        }
        // Kubernetes writes some paths in one step: `ordinals.start`.
        if name.contains('.') {
            let mut at = self;
            for part in name.split('.') {
                match at.into(part) {
                    Some(next) => at = next,
                    None => return (at, false),
                }
            }
            return (at, true);
        }
        // ... and leaves out `metadata` in others: `spec.template.labels`.
        if matches!(name, "labels" | "annotations")
            && let Some(metadata) = self.into("metadata")
        {
            return metadata.into(name).map_or((metadata, false), |next| (next, true));
        }
        (self, false)
    }

    fn into(self, name: &str) -> Option<Self> {
        let (key, node) = self.node.entry(name)?;
        let on_a_line = match &node.value {
            Value::Null | Value::Seq(_) | Value::Map(_) => false,
            Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Str(_) => {
                node.mark.width > 0
            }
        };
        let mark = if on_a_line { node.mark } else { key.mark };
        Some(Place { mark, key: Some(key.mark), node })
    }
}
