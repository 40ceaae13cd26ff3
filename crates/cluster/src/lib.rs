//! What setguard knows of a running cluster.
//!
//! ```text
//! wait/       a rollout, watched until it serves or cannot succeed
//! audit/      a running cluster in, a report out
//! live/       the cluster as it is now: watches, lists, its release
//! signals/    the signals that end a command
//! ```

pub mod audit;
pub mod live;
pub mod signals;
pub mod wait;
