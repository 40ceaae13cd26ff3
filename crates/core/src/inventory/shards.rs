//! A map with cheap clones that share all unchanged entries.
//!
//! The map is a table of small sorted lists. A change after a clone copies the table and one list. Crates for
//! persistent maps allocate each entry separately and take three times the memory.

use crate::inventory::prelude::*;

/// The number of lists. With half a million entries, each list has five hundred.
const COUNT: usize = 1024;

type Shard<V> = Vec<(u64, V)>;

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
        let shard = self.0.get(shard_of(key))?;
        let place = find(shard, key).ok()?;
        shard.get(place).map(|(_, value)| value)
    }

    pub(super) fn get_or_insert(
        &mut self,
        key: u64,
        default: impl FnOnce() -> V,
    ) -> Option<&mut V> {
        let shard = self.shard_mut(key)?;
        let place = find(shard, key).unwrap_or_else(|place| {
            grow_little(shard);
            shard.insert(place, (key, default()));
            place
        });
        shard.get_mut(place).map(|(_, value)| value)
    }

    pub(super) fn insert(&mut self, key: u64, value: V) {
        self.remove(key);
        self.get_or_insert(key, || value);
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<V> {
        // A missing key must not cost a copy.
        let place = find(self.0.get(shard_of(key))?, key).ok()?;
        Some(self.shard_mut(key)?.remove(place).1)
    }

    /// The approximate bytes of the lists, without heap memory of the values.
    pub(super) fn bytes(&self) -> usize {
        let of = |shard: &Arc<Shard<V>>| {
            size_of::<Shard<V>>() + shard.capacity() * size_of::<(u64, V)>()
        };
        self.0.iter().map(of).sum()
    }

    fn shard_mut(&mut self, key: u64) -> Option<&mut Shard<V>> {
        Arc::make_mut(&mut self.0).get_mut(shard_of(key)).map(Arc::make_mut)
    }
}

/// Makes room for one more element. Doubling would leave much of the room empty.
pub(super) fn grow_little<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 8 + 4);
    }
}

fn find<V>(shard: &Shard<V>, key: u64) -> Result<usize, usize> {
    shard.binary_search_by_key(&key, |(own, _)| *own)
}

const fn shard_of(key: u64) -> usize {
    key as usize % COUNT
}
