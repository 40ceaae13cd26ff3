use std::fmt;

use setguard_core::kubernetes::resource::WorkloadKind;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) namespace: String,
    pub(crate) kind: WorkloadKind,
    pub(crate) name: String,
    /// Whether each pod has its own claims.
    pub(crate) has_claims: bool,
}

/// For people and for kubectl: `statefulset/db -n shop`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} -n {}", self.kind.lower(), self.name, self.namespace)
    }
}
