//! Many objects in little memory.

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
