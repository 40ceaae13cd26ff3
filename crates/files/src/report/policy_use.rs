use crate::report::prelude::*;

/// The policy file of a run, and the rules that it weakens.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PolicyUse {
    file: String,
    /// The ids of the rules whose modes are below their defaults.
    weakened: Vec<&'static str>,
    /// The number of exceptions, including expired ones.
    exceptions: usize,
    /// The number of patterns of files that are not checked.
    #[serde(skip_serializing_if = "is_zero")]
    excludes: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl PolicyUse {
    /// `None` without a policy file.
    pub(super) fn of(policy: &Policy) -> Option<Self> {
        let (file, weakened) = (policy.file.clone()?, policy.weakened());
        let (exceptions, excludes) = (policy.exceptions.len(), policy.exclude.len());
        Some(PolicyUse { file, weakened, exceptions, excludes })
    }

    /// Returns whether the policy reports less than the defaults.
    pub(super) fn weakens(&self) -> bool {
        !self.weakened.is_empty() || self.exceptions > 0 || self.excludes > 0
    }
}

impl fmt::Display for PolicyUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PolicyUse { file, weakened, exceptions, excludes } = self;
        write!(f, "policy {file}: rules weakened: {}, exceptions: {exceptions}", weakened.len())?;
        match excludes {
            0 => Ok(()),
            _ => write!(f, ", patterns of files that are not checked: {excludes}"),
        }
    }
}
