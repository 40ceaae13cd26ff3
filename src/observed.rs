//! What a running cluster has: DaemonSets and StatefulSets with their status, and around those that
//! are not healthy their pods, claims, volumes, revisions and events.
//!
//! Each object is reduced as soon as it is read, to a few hundred bytes at most. Of a set that is
//! healthy by its status nothing else is kept.

mod budget;
mod claim;
mod event;
mod meta;
mod node;
mod pod;
mod revision;
mod set;
mod store;
mod trouble;

pub use self::{
    budget::Budget,
    claim::{Claim, Class, Volume},
    event::Event,
    meta::Owner,
    node::Node,
    pod::Pod,
    revision::Revision,
    set::Set,
    store::Observed,
    trouble::{Ended, Trouble, TroubleKind},
};
pub(crate) use self::{
    set::{DaemonSet, State, StatefulSet},
    trouble::NOT_READY,
};
