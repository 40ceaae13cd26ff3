//! A change of an object that removes a fault.

use kube_yaml::{Field, Path};

/// A change that leaves the rule nothing to find in the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub change: Change,
    /// Whether the change has no other effect in the cluster, such as removing a field without effect.
    pub is_safe: bool,
}

/// A change of an object. Its fields are relative to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes a field or a list item.
    Remove(Field),
    /// Adds a copy after each of these items, in order. The copies differ in the field `key`.
    Copy {
        /// The items to copy.
        items: Vec<Field>,
        /// The value of `key` in the copies.
        key: &'static str,
    },
    /// Renames a field.
    Rename(Field, String),
}

impl Fix {
    /// Removes a field. It gets its default, so the object behaves differently.
    pub fn use_default(path: &Path<'_>) -> Self {
        Fix { change: Change::Remove(path.to_field()), is_safe: false }
    }

    /// Renames a field that is probably misspelt.
    pub fn rename(field: Field, to: impl Into<String>) -> Self {
        Fix { change: Change::Rename(field, to.into()), is_safe: false }
    }

    /// Copies items with a different `key`.
    pub fn copy<'p>(items: impl Iterator<Item = Path<'p>>, key: &'static str) -> Self {
        let items = items.map(|item| item.to_field()).collect();
        Fix { change: Change::Copy { items, key }, is_safe: true }
    }

    /// Returns the change in a few words, for an editor.
    pub fn title(&self) -> String {
        match &self.change {
            Change::Remove(field) => format!("Remove {field}"),
            Change::Rename(field, to) => format!("Rename {field} to {to}"),
            Change::Copy { items, key } if items.len() == 1 => format!("Add a copy with key {key}"),
            Change::Copy { key, .. } => format!("Add copies with key {key}"),
        }
    }
}
