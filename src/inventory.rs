//! Many objects in little memory, for the rules about several objects.
//!
//! Imports: object, kubernetes, finding.
//!
//! An [`item::Item`] holds what those rules need to know about an object, in a few hundred bytes.
//! The object itself can then be dropped.

pub mod item;
pub(crate) mod labels;
pub(crate) mod nodes;
pub(crate) mod read;

use self::item::Item;

/// Objects, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Inventory {
    items: Vec<Item>,
}

impl Inventory {
    /// Adds an object, and returns its index.
    pub fn add(&mut self, item: Item) -> usize {
        self.items.push(item);
        self.items.len() - 1
    }

    /// The object with this index.
    pub fn get(&self, index: usize) -> Option<&Item> {
        self.items.get(index)
    }

    /// All objects, with their indexes.
    pub fn items(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate()
    }
}
