//! Many objects in little memory, for the rules about several objects.
//!
//! Imports: object, kubernetes, finding.
//!
//! An [`item::Item`] is what those rules need to know of an object, in a few hundred bytes, so that the
//! object itself can be dropped.

pub mod item;
pub(crate) mod labels;
pub(crate) mod nodes;
pub(crate) mod read;

use self::item::Item;

/// Objects, in the order in which they came.
#[derive(Debug, Default)]
pub struct Inventory {
    items: Vec<Item>,
}

impl Inventory {
    /// Takes an object up, and says at which place it now is.
    pub fn add(&mut self, item: Item) -> usize {
        self.items.push(item);
        self.items.len() - 1
    }

    /// The object at a place.
    pub fn get(&self, index: usize) -> Option<&Item> {
        self.items.get(index)
    }

    /// All objects, with their places.
    pub fn items(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate()
    }
}
