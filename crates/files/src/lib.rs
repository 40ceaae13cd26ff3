//! The input and output of setguard's commands: manifests in files, folders and commits; the policy file; reports.

pub mod error;
pub mod exit;
pub mod manifests;
pub mod policy_file;
pub mod prelude;
pub mod report;
