//! A recent state of a cluster, and its age.

use jiff::Timestamp;

use crate::inventory::prelude::*;

/// How current the objects of a kind are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The objects are unknown: never listed, forbidden, or far too old. Rules skip conditions that need them.
    #[default]
    Unknown,
    /// The objects match the API server's state, except for about the last second.
    Fresh,
    /// The objects may have changed since. A finding that depends on them is at most a warning, and shows the time.
    Stale {
        /// The last sign of life from the API server.
        as_of: Timestamp,
    },
}

/// A snapshot of a cluster's objects. It does not change during a review.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub inventory: Inventory,
    /// The namespaces that the view covers; `None` for all.
    pub namespaces: Option<Arc<[String]>>,
    freshness: BTreeMap<Kind, Freshness>,
}

impl View {
    /// Returns whether the view covers this namespace.
    pub fn covers(&self, namespace: &str) -> bool {
        let known = self.namespaces.as_ref();
        known.is_none_or(|known| known.iter().any(|it| it == namespace))
    }

    /// Returns the freshness of the objects of this kind.
    pub fn freshness(&self, kind: Kind) -> Freshness {
        self.freshness.get(&kind).copied().unwrap_or_default()
    }

    /// Sets the freshness of the objects of this kind.
    pub fn set_freshness(&mut self, kind: Kind, freshness: Freshness) {
        self.freshness.insert(kind, freshness);
    }
}
