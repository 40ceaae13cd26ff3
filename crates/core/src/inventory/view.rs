//! A recent state of a cluster: its objects, and how current they are.

use std::sync::Arc;

use jiff::Timestamp;

use super::store::Inventory;
use crate::kubernetes::kind::Kind;

/// The freshness of the objects of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The objects are not known: never listed, not allowed to be read, or far too old. Rules do
    /// not evaluate conditions that need them.
    #[default]
    Unknown,
    /// The objects match the API server's state, except for the last second or so.
    Fresh,
    /// The objects may have changed since. A finding that depends on them is at most a warning, and
    /// says when they were last seen.
    Stale {
        /// The time of the API server's last sign of life.
        as_of: Timestamp,
    },
}

/// The objects of a cluster: a snapshot that does not change while a review is answered.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The objects.
    pub inventory: Inventory,
    /// The namespaces whose objects are known, unless all are.
    pub namespaces: Option<Arc<[String]>>,
    freshness: [Freshness; Kind::COUNT],
}

impl View {
    /// Returns whether the objects of this namespace are known.
    pub fn covers(&self, namespace: &str) -> bool {
        let known = self.namespaces.as_ref();
        known.is_none_or(|known| known.iter().any(|it| it == namespace))
    }

    /// Returns the freshness of the objects of this kind.
    pub fn freshness(&self, kind: Kind) -> Freshness {
        self.freshness.get(kind as usize).copied().unwrap_or_default()
    }

    /// Sets the freshness of the objects of this kind.
    pub fn set_freshness(&mut self, kind: Kind, freshness: Freshness) {
        if let Some(known) = self.freshness.get_mut(kind as usize) {
            *known = freshness;
        }
    }
}
