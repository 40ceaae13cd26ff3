use kube::core;

#[derive(Debug)]
pub(super) struct Api {
    pub(super) group_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    /// Whether the API has a `source` field for the whole report, not only for each result.
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

pub(super) type Key = (String, String);

impl Api {
    pub(super) fn at(&self, namespace: &str) -> core::Request {
        let Api { group_version, plural, .. } = self;
        core::Request::new(format!("/apis/{group_version}/namespaces/{namespace}/{plural}"))
    }
}
