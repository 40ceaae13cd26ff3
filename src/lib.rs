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
pub mod api_validation;
pub mod check;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod docs;
pub mod engine;
pub mod exit;
pub mod field;
pub mod finding;
pub mod inject;
pub mod inventory;
pub mod policy_args;
pub mod preview;
pub mod response;
pub mod review;
pub mod rule;
pub mod satisfiable;
#[cfg(feature = "server")]
pub mod server;
pub mod subject;
#[cfg(feature = "server")]
pub mod telemetry;
pub mod traps;
pub mod verdict;
pub mod yaml;
