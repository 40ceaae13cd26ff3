//! What a running cluster has: DaemonSets and StatefulSets with their status, and around those that
//! are not healthy their pods, claims, volumes, revisions and events.
//!
//! Imports: rollout, object, kubernetes.
//!
//! Each object is reduced as soon as it is read, to a few hundred bytes at most. Of a set that is
//! healthy by its status nothing else is kept.

mod set;
mod store;

pub use self::{
    set::Set,
    store::{Healthy, Observed},
};
