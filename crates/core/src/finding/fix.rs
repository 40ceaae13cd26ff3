//! The change of an object that removes a fault, as determined by the rule that finds the fault.

use kube_yaml::{Field, Path};

/// A change of an object after which its rule finds nothing in the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The change.
    pub change: Change,
    /// Whether the change has no other effect in the cluster. A change that removes a field without
    /// effect is safe, and so is one that adds a value that was intended.
    pub is_safe: bool,
}

/// A change of an object. The fields are relative to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes a field or an item of a list.
    Remove(Field),
    /// Adds a copy after each of these items, in their order. The copies have a different value in
    /// their field `key`.
    Copy {
        /// The items.
        items: Vec<Field>,
        /// The value of `key` in the copies.
        key: &'static str,
    },
}

impl Fix {
    /// Creates the fix that removes a field without effect.
    pub fn remove(path: &Path<'_>) -> Self {
        Fix { change: Change::Remove(path.to_field()), is_safe: true }
    }

    /// Creates the fix that removes a field, which then gets its default, so that the object
    /// behaves differently.
    pub fn use_default(path: &Path<'_>) -> Self {
        Fix { change: Change::Remove(path.to_field()), is_safe: false }
    }

    /// Creates the fix that adds copies of items with a different `key`.
    pub fn copy<'p>(items: impl Iterator<Item = Path<'p>>, key: &'static str) -> Self {
        let items = items.map(|item| item.to_field()).collect();
        Fix { change: Change::Copy { items, key }, is_safe: true }
    }

    /// Returns the change in a few words, as an editor offers it.
    pub fn title(&self) -> String {
        match &self.change {
            Change::Remove(field) => format!("Remove {field}"),
            Change::Copy { items, key } if items.len() == 1 => format!("Add a copy with key {key}"),
            Change::Copy { key, .. } => format!("Add copies with key {key}"),
        }
    }
}
