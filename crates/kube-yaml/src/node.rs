use std::borrow::Cow;

use crate::{Field, Step};

/// The maximum nesting of mappings and lists: deeper than any manifest, and below `serde_json`'s limit of 128.
pub const MAX_DEPTH: usize = 100;

/// A position in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// How many characters to underline; 0 if unknown.
    pub width: usize,
}

/// A value, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// The value, with the type that kubectl reads.
    pub value: Value<'a>,
    /// Where the value begins.
    pub mark: Mark,
}

/// A key of a mapping, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The key as text: JSON has `1` and `yes` as text too.
    pub name: Cow<'a, str>,
    /// Where the key begins.
    pub mark: Mark,
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`; in YAML 1.1 also words such as `yes`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number too large for `i64`.
    UInt(u64),
    /// Any other number. Never infinite or NaN, because JSON has neither.
    Float(f64),
    /// Text.
    Str(Cow<'a, str>),
    /// A list.
    Seq(Vec<Node<'a>>),
    /// A mapping, in the order of the text. No key occurs twice.
    Map(Vec<(Key<'a>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// Identifies the node while the tree does not move.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns the value of a key if this is a mapping.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entry(key).map(|(_, node)| node)
    }

    fn entry(&self, key: &str) -> Option<&(Key<'a>, Node<'a>)> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(k, _)| k.name == key),
            _ => None,
        }
    }

    /// Returns the text at a position.
    pub fn text_at(&self, mark: Mark) -> Option<&str> {
        match &self.value {
            Value::Str(text) => Some(&**text).filter(|_| self.mark == mark),
            Value::Map(entries) => entries.iter().find_map(|(_, value)| value.text_at(mark)),
            Value::Seq(items) => items.iter().find_map(|item| item.text_at(mark)),
            _ => None,
        }
    }

    /// Returns the text, if the value is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the position of a field, or of its nearest existing parent: the value of a scalar, the key of a mapping
    /// or list, or the first line of a list element.
    pub fn locate(&self, field: &Field) -> Mark {
        self.find(field).0.mark
    }

    /// Returns the position of a field's key, or of its value if it has no key. `None` if the field does not exist.
    pub fn locate_existing(&self, field: &Field) -> Option<Mark> {
        let (found, arrived) = self.find(field);
        arrived.then(|| found.key.unwrap_or(found.mark))
    }

    /// Returns the position of a field's key, or what [`Node::locate`] returns for a list element or a missing field.
    pub fn locate_key(&self, field: &Field) -> Mark {
        let (found, _) = self.find(field);
        found.key.unwrap_or(found.mark)
    }

    /// Returns the location of a field, or of its nearest existing parent, and whether the field exists.
    fn find(&self, field: &Field) -> (Location<'_, 'a>, bool) {
        let mut at = Location { mark: self.mark, key: None, node: self };
        for step in field.steps() {
            let (next, arrived) = at.step(step);
            at = next;
            if !arrived {
                return (at, false);
            }
        }
        (at, true)
    }
}

#[derive(Clone, Copy)]
struct Location<'n, 'a> {
    mark: Mark,
    key: Option<Mark>,
    node: &'n Node<'a>,
}

impl<'n, 'a> Location<'n, 'a> {
    /// Returns the nearest existing parent and `false` if there is no such field.
    fn step(self, step: Step<'_>) -> (Self, bool) {
        let next = match step {
            Step::Index(index) => match &self.node.value {
                Value::Seq(items) => {
                    items.get(index).map(|node| Location { mark: node.mark, key: None, node })
                }
                _ => None,
            },
            Step::Child(name) => return self.child(name),
            // Kubernetes writes `resources[storage]` for `resources.requests.storage`.
            Step::Key(name) => self.into(name).or_else(|| self.into("requests")?.into(name)),
        };
        next.map_or((self, false), |next| (next, true))
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
        // Kubernetes leaves out `metadata` in others: `spec.template.labels`.
        if matches!(name, "labels" | "annotations")
            && let Some(metadata) = self.into("metadata")
        {
            return metadata.into(name).map_or((metadata, false), |next| (next, true));
        }
        (self, false)
    }

    fn into(self, name: &str) -> Option<Self> {
        let (key, node) = self.node.entry(name)?;
        let is_scalar = !matches!(node.value, Value::Null | Value::Seq(_) | Value::Map(_));
        let mark = if is_scalar && node.mark.width > 0 { node.mark } else { key.mark };
        Some(Location { mark, key: Some(key.mark), node })
    }
}
