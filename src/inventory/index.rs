//! The indexes of an inventory: which objects to look at for a question.
//!
//! A key is a hash. Two keys may have the same one, so what an index gives are candidates, and
//! whoever asks compares.

use std::{hash::BuildHasher as _, hash::RandomState, slice, sync::Arc};

use super::{kind::Kind, labels::Bucket, shards::Shards};

/// What objects are filed under.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Key<'a> {
    /// Objects of a kind.
    Kind(Kind),
    /// Objects of a kind in a namespace.
    In(Kind, &'a str),
    /// The object of a kind, a namespace and a name.
    Object(Kind, &'a str, &'a str),
    /// Objects of a kind and a name in any namespace, which were added without a namespace.
    Named(Kind, &'a str),
    /// Objects of a kind in a namespace whose selectors are filed in a bucket.
    Filed(Selecting, &'a str, Bucket<'a>),
    /// Controllers of a namespace that look for selectors in a bucket.
    Looking(&'a str, Bucket<'a>),
    /// DaemonSets that claim a port of a protocol.
    Port(i32, &'a str),
    /// Those whose nodes all have the same value of this label.
    PortLabelled(i32, &'a str, &'a str),
    /// Those whose nodes all have this label.
    PortPin(i32, &'a str, &'a str, &'a str),
    /// Nodes with a label of this key, and with this label.
    NodeLabelled(&'a str),
    NodeLabel(&'a str, &'a str),
    /// StorageClasses of claims that name none.
    DefaultClass,
}

/// The kinds of objects that select pods.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Selecting {
    Controllers,
    Budgets,
}

/// The objects under a key, sorted.
#[derive(Clone, Debug)]
enum Ids {
    One(u32),
    Many(Arc<Vec<u32>>),
}

/// Objects, by their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    hasher: RandomState,
    lists: Shards<Ids>,
    /// The ids in all lists.
    listed: usize,
}

impl Index {
    /// The objects under a key, in ascending order.
    pub(super) fn get(&self, key: Key<'_>) -> &[u32] {
        match self.lists.get(self.hasher.hash_one(key)) {
            None => &[],
            Some(Ids::One(id)) => slice::from_ref(id),
            Some(Ids::Many(ids)) => ids,
        }
    }

    pub(super) fn insert(&mut self, key: Key<'_>, id: u32) {
        let hash = self.hasher.hash_one(key);
        match self.lists.get_or_insert(hash, || Ids::One(id)) {
            None => {}
            Some(Ids::One(first)) if *first == id => {}
            Some(list @ Ids::One(_)) => {
                if let Ids::One(first) = *list {
                    *list = Ids::Many(Arc::new(vec![id.min(first), id.max(first)]));
                    self.listed += 2;
                }
            }
            Some(Ids::Many(ids)) => {
                if let Err(place) = ids.binary_search(&id) {
                    Arc::make_mut(ids).insert(place, id);
                    self.listed += 1;
                }
            }
        }
    }

    pub(super) fn remove(&mut self, key: Key<'_>, id: u32) {
        // A key that it does not have must not cost a copy.
        let Ok(place) = self.get(key).binary_search(&id) else { return };
        let hash = self.hasher.hash_one(key);
        let list = self.lists.get_or_insert(hash, || Ids::One(id));
        if let Some(Ids::Many(ids)) = list
            && ids.len() > 1
        {
            Arc::make_mut(ids).remove(place);
            self.listed -= 1;
        } else {
            self.lists.remove(hash);
        }
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.lists.bytes() + self.listed * size_of::<u32>()
    }
}
