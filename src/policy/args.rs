//! The flags that make a policy, the same for every command.

use std::{collections::BTreeMap, path::PathBuf};

use super::Policy;
use crate::{
    kubernetes::cluster::{self, Version},
    yaml::Problem,
};

/// Where the policy is, and what goes before it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PolicyArgs {
    /// The policy: modes of rules, exceptions, injection, the cluster
    #[arg(long, value_name = "FILE", env = "SETGUARD_POLICY")]
    pub policy: Option<PathBuf>,
    /// The release of the cluster that objects are meant for, such as 1.36; goes before the policy's
    #[arg(long, value_name = "VERSION", env = "SETGUARD_KUBE_VERSION")]
    pub kube_version: Option<Version>,
    /// Feature gates of that cluster that differ from the release's defaults: A=true,B=false
    #[arg(
        long,
        value_name = "GATES",
        env = "SETGUARD_FEATURE_GATES",
        value_parser = cluster::parse_gates
    )]
    pub feature_gates: Option<BTreeMap<String, bool>>,
}

impl PolicyArgs {
    /// The policy that the text of its file makes, or the default one.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn parse(&self, text: Option<&str>) -> Result<Policy, Vec<Problem>> {
        let mut policy = text.map_or_else(|| Ok(Policy::default()), Policy::parse)?;
        if let Some(version) = self.kube_version {
            policy.cluster.version = version;
        }
        for (gate, on) in self.feature_gates.iter().flatten() {
            policy.cluster.set_gate(gate, *on);
        }
        Ok(policy)
    }
}
