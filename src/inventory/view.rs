//! A cluster as it was seen a moment ago: its objects, and how current they are.

use std::sync::Arc;

use jiff::Timestamp;

use super::{kind::Kind, store::Inventory};

/// How current the objects of a kind are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// They are not known: never listed, not allowed to be read, or far too old. What rules need
    /// them for is not judged.
    #[default]
    Unknown,
    /// They are as the API server has them, but for the last second or so.
    Fresh,
    /// They may have changed since. What is found through them is at most a warning, and says when
    /// they were last seen.
    Stale {
        /// When the API server last gave a sign of life.
        as_of: Timestamp,
    },
}

/// The objects of a cluster. A snapshot: it does not change while a review is answered.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The objects.
    pub inventory: Inventory,
    /// The namespaces of which the objects are known, if not all are.
    pub namespaces: Option<Arc<[String]>>,
    freshness: [Freshness; Kind::ALL.len()],
}

impl View {
    /// Returns whether the objects of this namespace are known.
    pub fn covers(&self, namespace: &str) -> bool {
        let known = self.namespaces.as_ref();
        known.is_none_or(|known| known.iter().any(|it| it == namespace))
    }

    /// How current the objects of this kind are.
    pub fn freshness(&self, kind: Kind) -> Freshness {
        self.freshness.get(kind as usize).copied().unwrap_or_default()
    }

    /// Sets how current the objects of this kind are.
    pub fn set_freshness(&mut self, kind: Kind, freshness: Freshness) {
        if let Some(known) = self.freshness.get_mut(kind as usize) {
            *known = freshness;
        }
    }
}
