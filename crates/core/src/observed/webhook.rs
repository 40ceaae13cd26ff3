use std::collections::BTreeSet;

use k8s_openapi::{
    api::{
        admissionregistration::v1::{MutatingWebhook, RuleWithOperations},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};

use crate::observed::prelude::*;

/// A webhook that can block pods or nodes: the API server calls it for such requests, and its `failurePolicy` is
/// `Fail`.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The kind of its configuration.
    pub kind: Kind,
    /// The name of its configuration.
    pub configuration: Box<str>,
    /// The uid of its configuration.
    pub uid: Box<str>,
    /// When its configuration was created, in seconds since 1970.
    pub created: i64,
    /// The name of the webhook.
    pub name: Box<str>,
    /// The requests that the API server calls it for.
    pub calls: BTreeSet<Call>,
    /// The namespace and name of its Service; `None` for a URL.
    pub service: Option<Name>,
    /// The trusted CA certificates of its server, as PEM.
    pub ca_bundle: Vec<u8>,
    /// When the last of these certificates expired, in seconds since 1970. Set by the caller.
    pub expired: Option<i64>,
    /// Whether CEL conditions limit the calls.
    pub has_conditions: bool,
    /// The labels of the namespaces that it applies to.
    pub namespaces: LabelSelector,
    /// The labels of the pods that it applies to.
    pub objects: LabelSelector,
}

/// A request that a cluster depends on and that a webhook may be called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// The creation of a pod.
    NewPod,
    /// The binding of a pod to a node.
    BoundPod,
    /// The kubelet's report about a pod.
    PodStatus,
    /// The deletion of a pod.
    GonePod,
    /// The creation of a claim.
    NewClaim,
    /// The creation of a node.
    NewNode,
    /// A change of a node, such as a taint.
    ChangedNode,
    /// The kubelet's report about its node.
    NodeStatus,
    /// The renewal of a kubelet's lease, its sign of life.
    Lease,
}

/// The operation, API group and resource of each call.
const CALLS: [(Call, [&str; 3]); 9] = [
    (Call::NewPod, ["CREATE", "", "pods"]),
    (Call::BoundPod, ["CREATE", "", "pods/binding"]),
    (Call::PodStatus, ["UPDATE", "", "pods/status"]),
    (Call::GonePod, ["DELETE", "", "pods"]),
    (Call::NewClaim, ["CREATE", "", "persistentvolumeclaims"]),
    (Call::NewNode, ["CREATE", "", "nodes"]),
    (Call::ChangedNode, ["UPDATE", "", "nodes"]),
    (Call::NodeStatus, ["UPDATE", "", "nodes/status"]),
    (Call::Lease, ["UPDATE", "coordination.k8s.io", "leases"]),
];

/// Kubernetes: `Matcher`, apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go.
fn asks(rule: &RuleWithOperations, [operation, group, resource]: [&str; 3]) -> bool {
    let has = |list: &Option<Vec<String>>, word: &str| {
        list.iter().flatten().any(|it| it == "*" || *it == word)
    };
    let other_scope = if resource.starts_with("nodes") { "Namespaced" } else { "Cluster" };
    let is_resource = |pattern: &String| matches_resource(pattern, resource);
    has(&rule.operations, operation)
        && has(&rule.api_groups, group)
        && has(&rule.api_versions, "v1")
        && rule.resources.iter().flatten().any(is_resource)
        && rule.scope.as_deref() != Some(other_scope)
}

/// Returns whether a rule's pattern, such as `pods/*`, matches a resource. A pattern without a slash matches no
/// subresource, and `pods/*` also matches the pods themselves.
fn matches_resource(pattern: &str, resource: &str) -> bool {
    let (name, sub) = pattern.split_once('/').unwrap_or((pattern, ""));
    let (of, of_sub) = resource.split_once('/').unwrap_or((resource, ""));
    (name == "*" || name == of) && (sub == "*" || sub == of_sub)
}

/// The endpoints of a Service.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    /// Whether an endpoint receives requests.
    pub is_ready: bool,
    /// When the endpoints last changed, in seconds since 1970.
    pub changed: i64,
}

#[derive(Deserialize)]
struct Configuration {
    metadata: ObjectMeta,
    /// A validating webhook has no fields of its own.
    #[serde(default)]
    webhooks: Vec<MutatingWebhook>,
}

impl Webhook {
    /// Returns the webhooks of a configuration that can block pods or nodes, except setguard's own.
    pub(super) fn read(kind: Kind, json: &str) -> serde_json::Result<Vec<Self>> {
        let Configuration { metadata, webhooks } = serde_json::from_str(json)?;
        let created = metadata.creation_timestamp.map_or(0, |it| it.0.as_second());
        let [name, uid] = [metadata.name, metadata.uid].map(Option::unwrap_or_default);
        let needed = webhooks.into_iter().filter(|it| {
            it.failure_policy.as_deref().unwrap_or("Fail") == "Fail"
                && !it.name.ends_with(".setguard.io")
        });
        let calls = |it: &MutatingWebhook| {
            let calls = CALLS
                .into_iter()
                .filter(|(_, of)| it.rules.iter().flatten().any(|it| asks(it, *of)));
            calls.map(|(call, _)| call).collect::<BTreeSet<_>>()
        };
        let read = |it: MutatingWebhook| Webhook {
            calls: calls(&it),
            kind,
            configuration: name.as_str().into(),
            uid: uid.as_str().into(),
            created,
            name: it.name.into(),
            service: it
                .client_config
                .service
                .map(|it| (it.namespace.as_str().into(), it.name.as_str().into())),
            ca_bundle: it.client_config.ca_bundle.map(|it| it.0).unwrap_or_default(),
            expired: None,
            has_conditions: it.match_conditions.is_some_and(|it| !it.is_empty()),
            namespaces: it.namespace_selector.unwrap_or_default(),
            objects: it.object_selector.unwrap_or_default(),
        };
        Ok(needed.map(read).filter(|it| !it.calls.is_empty()).collect())
    }
}

impl Endpoints {
    /// Returns the endpoints of a slice, and the namespace and name of its Service.
    pub fn of(slice: &EndpointSlice) -> Option<(Name, Self)> {
        let EndpointSlice { endpoints, metadata, .. } = slice;
        let service = metadata.labels.as_ref()?.get("kubernetes.io/service-name")?;
        let managed = metadata.managed_fields.iter().flatten().filter_map(|it| it.time.as_ref());
        let times = managed.chain(&metadata.creation_timestamp).map(|it| it.0.as_second());
        let mut conditions = endpoints.iter().flatten().map(|it| it.conditions.as_ref());
        let endpoints = Endpoints {
            is_ready: conditions.any(|it| it.and_then(|it| it.ready).unwrap_or(true)),
            changed: times.max().unwrap_or_default(),
        };
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        Some(((namespace.into(), service.as_str().into()), endpoints))
    }

    pub(super) fn add(&mut self, other: Endpoints) {
        self.is_ready |= other.is_ready;
        self.changed = self.changed.max(other.changed);
    }
}
