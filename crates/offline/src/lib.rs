//! The commands of setguard that need no cluster.
//!
//! ```text
//! browser/     the same commands for a program without files, such as a page
//! plan/        what the controllers will do with a change    check/    manifests in, a report out
//! explain/     the rules, and what each is good for
//! proposal/    the object that the API server is asked to store for a manifest, and the verdict on it
//! ```

pub mod browser;
pub mod check;
pub mod explain;
pub mod plan;
pub mod proposal;
