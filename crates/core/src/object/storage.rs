//! The claims and volumes that certainly exist.

use std::collections::BTreeSet;

/// Older than `storageClassName`. Kubernetes: `GetPersistentVolumeClaimClass`, pkg/apis/core/helper/helpers.go.
pub(crate) const OLD_CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// A StorageClass is the default if one of these is `true`. Kubernetes: `IsDefaultAnnotation`,
/// pkg/apis/storage/util/helpers.go.
pub(crate) const DEFAULT_CLASS_ANNOTATIONS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// The known PersistentVolumeClaims and PersistentVolumes. The webhook knows none; `check` knows its input.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    /// By namespace and name.
    shareable: Vec<(Option<Box<str>>, Box<str>)>,
    /// The names of claims that only pods on a single node can use.
    pub(super) others: BTreeSet<Box<str>>,
    pub(super) has_volumes_without_class: bool,
}

/// Returns whether an access mode of a claim allows pods on several nodes.
pub fn is_shareable(access_mode: &str) -> bool {
    matches!(access_mode, "ReadWriteMany" | "ReadOnlyMany")
}

impl Storage {
    /// Adds a claim that pods on several nodes can use. The claim need not set its namespace.
    pub fn add_shareable_claim(&mut self, namespace: Option<&str>, name: &str) {
        self.shareable.push((namespace.map(Into::into), name.into()));
    }

    /// Adds a claim that only pods on a single node can use.
    pub fn add_other_claim(&mut self, name: &str) {
        self.others.insert(name.into());
    }

    /// Adds a volume without a storage class.
    pub const fn add_volume_without_class(&mut self) {
        self.has_volumes_without_class = true;
    }

    /// Returns whether pods on several nodes can use a claim. A set or claim without a namespace may end up in any.
    pub fn can_share(&self, namespace: Option<&str>, claim: &str) -> bool {
        self.shareable.iter().any(|(its, name)| {
            let same = its.as_deref().zip(namespace).is_none_or(|(its, ours)| its == ours);
            **name == *claim && same
        })
    }
}
