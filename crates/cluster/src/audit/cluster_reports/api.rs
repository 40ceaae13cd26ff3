//! The APIs for reports.

use kube::core;

/// An API for reports.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) group_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    /// Whether a report names its source at the top, and not only in each result.
    pub(super) has_source: bool,
}

pub(super) static OPEN_REPORTS: Api = Api {
    group_version: "openreports.io/v1alpha1",
    kind: "Report",
    plural: "reports",
    has_source: true,
};
pub(super) static POLICY_REPORTS: Api = Api {
    group_version: "wgpolicyk8s.io/v1alpha2",
    kind: "PolicyReport",
    plural: "policyreports",
    has_source: false,
};

/// The namespace and the name of a report.
pub(super) type Key = (String, String);

impl Api {
    /// Returns the collection of reports in a namespace.
    pub(super) fn at(&self, namespace: &str) -> core::Request {
        let Api { group_version, plural, .. } = self;
        core::Request::new(format!("/apis/{group_version}/namespaces/{namespace}/{plural}"))
    }
}
