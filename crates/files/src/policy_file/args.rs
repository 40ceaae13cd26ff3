//! The policy flags, the same for every command.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use kube_yaml::Problem;
use setguard_core::kubernetes::cluster::{self, Version};
use setguard_core::policy::Policy;

use crate::{
    error::FileError,
    manifests::{files::LARGEST_POLICY, source::Source},
};

/// The policy file, and the flags that override it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PolicyArgs {
    /// The policy file: modes of rules, exceptions, injection, the cluster
    #[arg(long, value_name = "FILE", env = "SETGUARD_POLICY")]
    pub policy: Option<PathBuf>,
    /// The Kubernetes release of the cluster, such as 1.36; overrides the policy
    #[arg(long, value_name = "VERSION", env = "SETGUARD_KUBE_VERSION", hide_short_help = true)]
    pub kube_version: Option<Version>,
    /// Feature gates of that cluster that differ from the release's defaults: A=true,B=false
    #[arg(
        hide_short_help = true,
        long,
        value_name = "GATES",
        env = "SETGUARD_FEATURE_GATES",
        value_parser = cluster::parse_gates
    )]
    pub feature_gates: Option<BTreeMap<String, bool>>,
}

/// The reason why the policy cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The file is not a valid policy.
    #[error("{}: the policy cannot be used{}", path.display(), lines(path, problems))]
    Wrong {
        path: PathBuf,
        /// All problems of the file.
        problems: Vec<Problem>,
    },
}

fn lines(path: &Path, problems: &[Problem]) -> String {
    let path = path.display();
    problems.iter().map(|problem| format!("\n  {path}:{problem}")).collect()
}

impl PolicyArgs {
    /// Returns the text of the policy file, if the flags specify one, or an error if it cannot be read.
    pub fn read(&self) -> Result<Option<String>, PolicyError> {
        let Some(path) = &self.policy else { return Ok(None) };
        let read = Source::named_file(path).read_at_most(LARGEST_POLICY);
        Ok(Some(read?.text().to_owned()))
    }

    /// Parses the text of the policy file, or takes the default policy without one, and applies the flags. Fails if the
    /// text is not a valid policy.
    pub fn parse(&self, text: Option<&str>) -> Result<Policy, PolicyError> {
        let mut policy = match text {
            None => return Ok(self.over(Policy::default())),
            Some(text) => Policy::parse(text).map_err(|problems| {
                let path = self.policy.clone().unwrap_or_default();
                PolicyError::Wrong { path, problems }
            })?,
        };
        policy.file = self.policy.as_ref().map(|path| path.display().to_string());
        Ok(self.over(policy))
    }

    /// Returns the fallback for a policy that cannot be used, with the flags applied.
    pub fn fallback(&self) -> Policy {
        self.over(Policy::fallback())
    }

    fn over(&self, mut policy: Policy) -> Policy {
        if let Some(version) = self.kube_version {
            policy.cluster.version = version;
            policy.names_release = true;
        }
        for (gate, on) in self.feature_gates.iter().flatten() {
            policy.cluster.set_gate(gate, *on);
        }
        policy
    }
}
