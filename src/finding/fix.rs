//! The change of an object that removes a fault. The rule that finds the fault knows it.

use super::field::{Field, Path};

/// A change of an object after which its rule finds nothing there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The change.
    pub change: Change,
    /// Whether nothing else happens in the cluster. A change that leaves out what has no effect is
    /// safe, and so is one that adds what was meant.
    pub is_safe: bool,
}

/// A change of an object. Fields are relative to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes a field or an item of a list.
    Remove(Field),
    /// Adds a copy after each of these items, in their order. The copies have another value in their
    /// field `key`.
    Copy {
        /// The items.
        items: Vec<Field>,
        /// The value of `key` in the copies.
        key: &'static str,
    },
}

impl Fix {
    /// Removes a field that has no effect.
    pub fn remove(path: &Path<'_>) -> Self {
        Fix { change: Change::Remove(path.to_field()), is_safe: true }
    }

    /// Removes a field, which then gets its default, so that the object behaves differently.
    pub fn use_default(path: &Path<'_>) -> Self {
        Fix { change: Change::Remove(path.to_field()), is_safe: false }
    }

    /// Adds copies of items with another `key`.
    pub fn copy<'p>(items: impl Iterator<Item = Path<'p>>, key: &'static str) -> Self {
        let items = items.map(|item| item.to_field()).collect();
        Fix { change: Change::Copy { items, key }, is_safe: true }
    }
}
