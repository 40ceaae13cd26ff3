//! What a trap is.

use crate::{
    finding::{Findings, Meta},
    kubernetes::cluster::Cluster,
    object::Subject,
};

/// When a trap can see what it looks for.
///
/// The API server runs mutating webhooks, drops the fields of disabled features, judges the object
/// itself, and then runs validating webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only before the API server dropped or refused it: `/mutate`, as a warning, and `check`.
    Before,
    /// Once the API server has accepted the object: `/validate`, and `check`.
    After,
}

/// Something that the API server accepts and that then does not work, or not as meant.
#[derive(Debug)]
pub struct Trap {
    /// What it says of itself.
    pub meta: Meta,
    /// When it speaks.
    pub phase: Phase,
    /// Looks at an object. Pure: no IO, no clock, no policy.
    pub check: fn(&Subject<'_>, &Cluster, &mut Findings),
}
