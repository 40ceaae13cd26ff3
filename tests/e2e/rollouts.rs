//! Changes of DaemonSets and StatefulSets on the real controllers, step by step.

mod acts;
pub(crate) mod history;
pub(crate) mod lockstep;
pub(crate) mod middle;
mod pods;
pub(crate) mod scenario;
mod world;
