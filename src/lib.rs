//! Admission control for Kubernetes DaemonSets, StatefulSets and the pods of node daemons.
//!
//! ```text
//! HTTPS bytes ─▶ review ─▶ object ─▶ engine ─▶ verdict ─▶ response ─▶ bytes     setguard-core
//!                            ▲         │  rules/ and inject/ (pure)
//! YAML files ─▶ manifest ────┘         └──▶ verdict ─▶ report ─▶ text, SARIF, …   setguard-offline
//! ```
//!
//! This package has the program, and the server. The rest are crates. Each imports only crates on the lines below its
//! own, so an object passes through them in one direction.
//!
//! ```text
//! setguard            cli/: what the user typed    server/: HTTPS, certificates, metrics
//! setguard-offline    check and plan               setguard-cluster    the view, audit and wait
//! setguard-files      manifests in files and commits, reports, the policy file
//! setguard-core       objects, rules, engine, policy, admission, the simulation of the controllers
//! kube-yaml           YAML as kubectl reads it
//! ```

pub mod cli;
pub mod server;

pub use kube_yaml as yaml;
pub use setguard_cluster::{audit, live, wait};
pub use setguard_core::{
    admission, catalogue, engine, finding, inject, inventory, kubernetes, object, observed, policy,
    printable, rollout, rules,
};
pub use setguard_files::{exit, manifests, policy_file, report};
pub use setguard_offline::{browser, check, plan, proposal};
