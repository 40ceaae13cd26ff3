//! Admission control for Kubernetes DaemonSets, StatefulSets and the pods of node daemons.
//!
//! ```text
//! HTTPS bytes ─▶ review ─▶ object ─▶ engine ─▶ verdict ─▶ response ─▶ bytes            admission/
//!                            ▲         │  rules/ and inject/ (pure)
//! YAML files ─▶ manifest ────┘         └──▶ verdict ─▶ report ─▶ text, SARIF, …        check/
//! ```
//!
//! The top-level modules form layers. An object passes through them in one direction, and a module
//! imports only modules on the lines below its own; `tests/it/house.rs` reads this map and checks
//! the code against it.
//!
//! ```text
//! cli/          what the user typed
//! wait/         a rollout, watched until it serves or cannot succeed
//! server/       serve: HTTPS, certificates, probes, metrics    check/   manifests in, a report out
//! plan/         what the controllers will do with a change      audit/   a running cluster in, a report out
//! report/       findings, for people and pipelines  admission/   review in, response out
//! live/         the cluster as it is now: watches, lists, its release
//! proposal/     the object that the API server is asked to store for a manifest, and the verdict on it
//! engine/       runs the rules: verdict, modes, exceptions, ratcheting
//! policy/       the policy file and its flags
//! catalogue/    every rule by its id
//! inject/       tolerations and the node pin, for pods and templates
//! manifests/    the objects in files, folders and streams
//! rules/        the rules, a folder for each
//! observed/     what a running cluster has: sets with their status, pods, claims, events
//! rollout/      what the controllers will do: a simulation of both
//! inventory/    many objects in little memory
//! validation/   what the API server refuses in metadata, pods and claims
//! object/       one object, read once and typed
//! kubernetes/   names, labels, selectors, quantities, tolerations, releases and gates
//! yaml/         text to tree to type, with places
//! finding/      what was found, where, and by which rule
//! exit/         the exit codes, and the signals that end a command
//! printable/    text that cannot steer a terminal
//! ```
//!
//! The core is synchronous and pure: `clippy.toml` forbids files, the environment and the clock. A file
//! that needs one of them has an `expect` attribute at its top, with the reason.

pub mod admission;
#[cfg(feature = "server")]
pub mod audit;
pub mod catalogue;
pub mod check;
pub mod cli;
pub mod engine;
pub mod exit;
pub mod finding;
pub mod inject;
pub mod inventory;
pub mod kubernetes;
#[cfg(feature = "server")]
pub mod live;
pub mod manifests;
pub mod object;
pub mod observed;
pub mod plan;
pub mod policy;
pub mod printable;
pub mod proposal;
pub mod report;
pub mod rollout;
pub mod rules;
#[cfg(feature = "server")]
pub mod server;
mod validation;
#[cfg(feature = "server")]
pub mod wait;
pub mod yaml;
