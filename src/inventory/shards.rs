//! A map that is cheap to clone, and of which a clone shares what has not changed since.
//!
//! It is a table of small hash maps. A change after a clone copies the table and one of the maps.
//! The crates of persistent maps allocate each entry by itself, which takes three times the memory.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

/// How many maps there are: with half a million entries, one has a thousand.
const COUNT: usize = 512;

type Shard<V> = HashMap<u64, V, BuildHasherDefault<Identity>>;

/// A map whose keys are hashes.
#[derive(Clone, Debug)]
pub(super) struct Shards<V>(Arc<[Arc<Shard<V>>]>);

impl<V> Default for Shards<V> {
    fn default() -> Self {
        let empty = Arc::new(Shard::default());
        Shards((0..COUNT).map(|_| empty.clone()).collect())
    }
}

impl<V: Clone> Shards<V> {
    pub(super) fn get(&self, key: u64) -> Option<&V> {
        self.0.get(place(key))?.get(&key)
    }

    /// The map that has this key, to be changed.
    pub(super) fn shard_mut(&mut self, key: u64) -> Option<&mut Shard<V>> {
        Arc::make_mut(&mut self.0).get_mut(place(key)).map(Arc::make_mut)
    }

    pub(super) fn insert(&mut self, key: u64, value: V) {
        self.shard_mut(key).and_then(|shard| shard.insert(key, value));
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<V> {
        // A key that it does not have must not cost a copy.
        self.get(key)?;
        self.shard_mut(key)?.remove(&key)
    }

    /// About how many bytes the maps take, without what values own.
    pub(super) fn bytes(&self) -> usize {
        let entry = size_of::<(u64, V)>() + 1;
        // A hash map is at most seven eighths full, and grows by doubling.
        let of = |shard: &Arc<Shard<V>>| size_of::<Shard<V>>() + shard.capacity() * 8 / 7 * entry;
        self.0.iter().map(of).sum()
    }
}

/// The bits in the middle: the maps use those at both ends.
const fn place(key: u64) -> usize {
    (key >> 32) as usize % COUNT
}

/// A hash that is its own hash.
#[derive(Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Never called: the keys are u64.
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
