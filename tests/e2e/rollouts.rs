//! Changes of DaemonSets and StatefulSets on the real controllers, step by step.

pub(crate) mod acts;
mod claims;
pub(crate) mod history;
pub(crate) mod lockstep;
pub(crate) mod middle;
mod pods;
pub(crate) mod scenario;
mod world;
