//! The input and output of setguard's commands: manifests in files, folders and commits; the policy file; reports.
//!
//! ```text
//! report/         findings, for people and pipelines
//! policy_file/    the flags of the policy, and the search for its file
//! manifests/      the objects in files, folders and streams
//! exit/           the exit codes
//! error/          the reasons why a file cannot be used
//! ```

pub mod error;
pub mod exit;
pub mod manifests;
pub mod policy_file;
pub mod report;
