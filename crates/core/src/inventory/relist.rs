//! Relists objects: at the end of a list, objects that it did not contain are removed.

use std::collections::HashSet;

use crate::inventory::prelude::*;

/// The objects that a new list has not contained so far. If the list ends early, drop this value to keep them.
#[derive(Debug)]
pub struct Relist {
    left: HashSet<u32>,
    added: Vec<u32>,
}

impl Relist {
    /// Begins a new list of a kind.
    pub fn begin(inventory: &Inventory, kind: Kind) -> Self {
        Relist { left: inventory.ids(kind).iter().copied().collect(), added: Vec::new() }
    }

    /// Begins a new list of a kind in one namespace.
    pub fn begin_in(inventory: &Inventory, kind: Kind, namespace: &str) -> Self {
        let ids = inventory.ids(kind).iter().copied();
        let is_in = |id: &u32| inventory.item(*id).is_some_and(|it| &*it.namespace == namespace);
        Relist { left: ids.filter(is_in).collect(), added: Vec::new() }
    }

    /// Adds or replaces an object. Returns whether the inventory changed.
    pub fn put(&mut self, inventory: &mut Inventory, item: ObjectSummary) -> bool {
        let Some(id) = inventory.find(item.kind, &item.namespace, &item.name) else {
            let (kind, namespace, name) = (item.kind, item.namespace.clone(), item.name.clone());
            let changed = inventory.put(item);
            self.added.extend(inventory.find(kind, &namespace, &name));
            return changed;
        };
        self.left.remove(&id);
        inventory.put(item)
    }

    /// Discards the list and the objects that came with it. Returns whether there were any.
    pub fn undo(self, inventory: &mut Inventory) -> bool {
        for id in &self.added {
            inventory.remove_id(*id);
        }
        !self.added.is_empty()
    }

    /// Keeps an object that is in the list but could not be read.
    pub fn keep(&mut self, inventory: &Inventory, kind: Kind, namespace: &str, name: &str) {
        if let Some(id) = inventory.find(kind, namespace, name) {
            self.left.remove(&id);
        }
    }

    /// Ends the list. Removes the objects that it did not contain, and returns their number.
    pub fn finish(self, inventory: &mut Inventory) -> usize {
        for id in &self.left {
            inventory.remove_id(*id);
        }
        self.left.len()
    }
}
