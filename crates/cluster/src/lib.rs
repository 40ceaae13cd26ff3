//! Everything that setguard does with a running cluster.
//!
//! ```text
//! wait/       watches a rollout until it serves or cannot succeed
//! audit/      reads a running cluster and writes a report
//! live/       the current state of the cluster: watches, lists, the release
//! signals/    the signals that end a command
//! ```

pub mod audit;
pub mod live;
mod prelude;
pub mod signals;
/// `setguard wait`.
pub mod wait;
