//! Changes of DaemonSets and StatefulSets on the real controllers, step by step.

pub(crate) mod lockstep;
pub(crate) mod scenario;
