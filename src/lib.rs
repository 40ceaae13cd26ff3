//! Admission control for Kubernetes DaemonSets, StatefulSets and the pods of node daemons.
//!
//! ```text
//! HTTPS bytes ─▶ review ─▶ subject ─▶ engine ─▶ verdict ─▶ response ─▶ bytes      server
//!                             ▲         │  api_validation + traps (pure)
//! YAML files ─▶ manifest ─────┘         └──▶ verdict ─▶ report ─▶ text | json     check
//! ```
//!
//! Data flows one way. Everything but `server` and `check` is pure: no IO, no clock, no logging.

pub mod admission;
pub mod catalogue;
pub mod check;
pub mod cli;
pub mod engine;
pub mod exit;
pub mod finding;
pub mod inject;
pub mod inventory;
pub mod kubernetes;
pub mod manifests;
pub mod object;
pub mod policy;
pub mod report;
pub mod rules;
#[cfg(feature = "server")]
pub mod server;
pub mod yaml;
