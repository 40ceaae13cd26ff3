//! The resources that setguard validates.

use std::fmt;

words! {
    /// The kinds of workload that setguard validates.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum WorkloadKind {
        /// One pod per node.
        DaemonSet => "DaemonSet",
        /// Pods that each have an identity.
        StatefulSet => "StatefulSet",
    }
}

impl WorkloadKind {
    /// Returns the lowercase name that some of the API server's messages use, such as `daemonset`.
    pub const fn lower(self) -> &'static str {
        match self {
            WorkloadKind::DaemonSet => "daemonset",
            WorkloadKind::StatefulSet => "statefulset",
        }
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A resource that setguard validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The API group.
    pub group: &'static str,
    /// The version within the group.
    pub version: &'static str,
    /// The plural name, as in URLs.
    pub plural: &'static str,
    /// Decides which rules apply. Its name is also the resource's `kind`.
    pub kind: WorkloadKind,
}

/// Every resource that setguard validates.
pub const RESOURCES: &[Resource] = &[
    Resource::new("apps", "v1", "daemonsets", WorkloadKind::DaemonSet),
    Resource::new("apps", "v1", "statefulsets", WorkloadKind::StatefulSet),
    Resource::new(KRUISE, "v1alpha1", "daemonsets", WorkloadKind::DaemonSet),
    Resource::new(KRUISE, "v1beta1", "daemonsets", WorkloadKind::DaemonSet),
    Resource::new(KRUISE, "v1beta1", "statefulsets", WorkloadKind::StatefulSet),
];

/// OpenKruise's sets. The rules for the built-in sets apply where the fields have the same meaning.
const KRUISE: &str = "apps.kruise.io";

impl Resource {
    const fn new(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: WorkloadKind,
    ) -> Self {
        Resource { group, version, plural, kind }
    }

    /// Returns the resource of an `apiVersion` and a `kind`, if setguard validates it.
    pub fn of(api_version: &str, kind: &str) -> Option<&'static Resource> {
        let (group, version) = api_version.split_once('/')?;
        Resource::of_gvk(group, version, kind)
    }

    /// Returns the resource of a group, a version and a kind, if setguard validates it.
    pub fn of_gvk(group: &str, version: &str, kind: &str) -> Option<&'static Resource> {
        RESOURCES
            .iter()
            .find(|r| r.kind.as_str() == kind && r.group == group && r.version == version)
    }

    /// Returns whether the resource is one of OpenKruise's.
    pub fn is_kruise(&self) -> bool {
        self.group == KRUISE
    }

    /// Returns the `apiVersion`, such as `apps/v1`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}
