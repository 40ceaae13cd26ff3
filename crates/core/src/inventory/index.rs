//! The indexes of an inventory.
//!
//! A key is a hash. Different keys may have the same hash, so an index returns candidates, and the caller compares
//! them.

use std::{
    hash::{BuildHasher as _, RandomState},
    slice,
};

use super::shards::{Shards, grow_little};
use crate::inventory::prelude::*;

#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Key<'a> {
    Kind(Kind),
    In(Kind, &'a str),
    Object(Kind, &'a str, &'a str),
    /// The objects of a kind with a name in any namespace, if they were added to the inventory without a namespace.
    Named(Kind, &'a str),
    /// The objects of a namespace whose selectors are filed in a bucket.
    Filed(Selecting, &'a str, Bucket<'a>),
    /// The controllers of a namespace that look for selectors in a bucket.
    Looking(&'a str, Bucket<'a>),
    Port(i32, &'a str),
    /// The controllers that occupy the port and whose nodes all have one value of this label.
    PortLabelled(i32, &'a str, &'a str),
    /// The controllers that occupy the port and whose nodes all have this label.
    PortPin(i32, &'a str, &'a str, &'a str),
    /// The nodes with a label of this key, and with exactly this label.
    NodeLabelled(&'a str),
    NodeLabel(&'a str, &'a str),
    DefaultClass,
    /// The webhook configurations that need the Service of this namespace, or of any if it is empty, and name.
    Called(&'a str, &'a str),
    /// The Services with this port on all nodes.
    NodePort(i64),
    /// The autoscalers of a kind for the object of this namespace and name.
    Scaling(Kind, &'a str, &'a str),
}

#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Selecting {
    Controllers,
    Budgets,
    Services,
}

/// Maps keys to objects.
///
/// Most keys have one object. A single table for both cases would take half as much memory again.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    hasher: RandomState,
    single: Shards<u32>,
    /// The keys that have, or once had, several objects, in ascending order.
    several: Shards<Arc<Vec<u32>>>,
    listed: usize,
}

impl Index {
    /// Returns the objects under a key, in ascending order.
    pub(super) fn get(&self, key: Key<'_>) -> &[u32] {
        self.of_hash(self.hasher.hash_one(key))
    }

    fn of_hash(&self, hash: u64) -> &[u32] {
        match self.single.get(hash) {
            Some(id) => slice::from_ref(id),
            None => self.several.get(hash).map_or(&[], |ids| ids),
        }
    }

    pub(super) fn insert(&mut self, key: Key<'_>, id: u32) {
        let hash = self.hasher.hash_one(key);
        let known = self.of_hash(hash);
        let Err(place) = known.binary_search(&id) else { return };
        if known.is_empty() {
            self.single.insert(hash, id);
            return;
        }
        if let Some(first) = self.single.remove(hash) {
            self.several.insert(hash, Arc::new(vec![first]));
            self.listed += 1;
        }
        if let Some(ids) = self.several.get_or_insert(hash, Arc::default) {
            let ids = Arc::make_mut(ids);
            grow_little(ids);
            ids.insert(place, id);
            self.listed += 1;
        }
    }

    pub(super) fn remove(&mut self, key: Key<'_>, id: u32) {
        let hash = self.hasher.hash_one(key);
        // A missing key must not cost a copy.
        let known = self.of_hash(hash);
        let Ok(place) = known.binary_search(&id) else { return };
        let is_last = known.len() == 1;
        if self.single.remove(hash).is_some() {
            return;
        }
        self.listed -= 1;
        if is_last {
            self.several.remove(hash);
        } else if let Some(ids) = self.several.get_or_insert(hash, Arc::default) {
            Arc::make_mut(ids).remove(place);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.single.bytes() + self.several.bytes() + self.listed * size_of::<u32>()
    }
}
