//! The data about its pod that the rules for a container need.

use super::{options::Options, volumes::Volumes};

/// The data about its pod that the rules for a container need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodContext<'a> {
    pub(crate) opts: &'a Options,
    pub(crate) volumes: &'a Volumes<'a>,
    pub(crate) claim_names: &'a [&'a str],
    pub(crate) grace_period: Option<i64>,
    pub(crate) os: Option<&'a str>,
    pub(crate) restart_policy: &'a str,
    pub(crate) host_users: bool,
}
