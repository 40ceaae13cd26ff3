//! Webhooks that the API server calls for pods, claims and nodes, and the endpoints of their Services.

use std::collections::BTreeSet;

use k8s_openapi::{
    api::{
        admissionregistration::v1::{RuleWithOperations, WebhookClientConfig},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use serde::{Deserialize, de::IgnoredAny};

use super::meta::Name;
use crate::kubernetes::kind::Kind;

/// A webhook without which pods cannot be created or nodes not be changed: it is called for such requests,
/// and its `failurePolicy` is `Fail`.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The kind of its configuration.
    pub kind: Kind,
    /// The name of its configuration.
    pub configuration: Box<str>,
    /// The uid of its configuration.
    pub uid: Box<str>,
    /// The time at which the configuration was created, in seconds since 1970.
    pub created: i64,
    /// The name of the webhook.
    pub name: Box<str>,
    /// The requests that it is called for.
    pub calls: BTreeSet<Call>,
    /// The namespace and name of its Service; `None` for a URL.
    pub service: Option<Name>,
    /// The certificates that its server must have been signed by, as PEM.
    pub ca_bundle: Vec<u8>,
    /// The time at which the last of these certificates has expired, in seconds since 1970, once that
    /// was looked at.
    pub expired: Option<i64>,
    /// Whether conditions in CEL decide which pods it is called for.
    pub has_conditions: bool,
    /// The labels of the namespaces that it is called for.
    pub namespaces: LabelSelector,
    /// The labels of the pods that it is called for.
    pub objects: LabelSelector,
}

/// A request that a webhook can be called for, and without which a cluster does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// The creation of a pod.
    NewPod,
    /// The choice of a pod's node.
    BoundPod,
    /// The status that a kubelet reports of a pod.
    PodStatus,
    /// The deletion of a pod.
    GonePod,
    /// The creation of a claim.
    NewClaim,
    /// The creation of a node.
    NewNode,
    /// A change of a node, such as a taint.
    ChangedNode,
    /// The status that a kubelet reports.
    NodeStatus,
    /// The renewal of a lease, by which a kubelet says that it is there.
    Lease,
}

impl Call {
    const ALL: [Call; 9] = [
        Call::NewPod,
        Call::BoundPod,
        Call::PodStatus,
        Call::GonePod,
        Call::NewClaim,
        Call::NewNode,
        Call::ChangedNode,
        Call::NodeStatus,
        Call::Lease,
    ];

    /// Returns whether a rule is about such requests.
    ///
    /// Kubernetes: `Matcher`, apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go.
    fn is_asked_by(self, rule: &RuleWithOperations) -> bool {
        let has = |list: &Option<Vec<String>>, word: &str| {
            list.iter().flatten().any(|it| it == "*" || *it == word)
        };
        let (operation, group, resource) = match self {
            Call::NewPod => ("CREATE", "", "pods"),
            Call::BoundPod => ("CREATE", "", "pods/binding"),
            Call::PodStatus => ("UPDATE", "", "pods/status"),
            Call::GonePod => ("DELETE", "", "pods"),
            Call::NewClaim => ("CREATE", "", "persistentvolumeclaims"),
            Call::NewNode => ("CREATE", "", "nodes"),
            Call::ChangedNode => ("UPDATE", "", "nodes"),
            Call::NodeStatus => ("UPDATE", "", "nodes/status"),
            Call::Lease => ("UPDATE", "coordination.k8s.io", "leases"),
        };
        let is_of_nodes = matches!(self, Call::NewNode | Call::ChangedNode | Call::NodeStatus);
        let other_scope = if is_of_nodes { "Namespaced" } else { "Cluster" };
        let is_resource = |pattern: &String| matches_resource(pattern, resource);
        has(&rule.operations, operation)
            && has(&rule.api_groups, group)
            && has(&rule.api_versions, "v1")
            && rule.resources.iter().flatten().any(is_resource)
            && rule.scope.as_deref() != Some(other_scope)
    }
}

/// Returns whether a pattern of a rule, such as `pods/*`, names a resource or subresource. A pattern without a
/// slash names no subresource, and `pods/*` also names the pods themselves.
fn matches_resource(pattern: &str, resource: &str) -> bool {
    let (name, sub) = pattern.split_once('/').unwrap_or((pattern, ""));
    let (of, of_sub) = resource.split_once('/').unwrap_or((resource, ""));
    (name == "*" || name == of) && (sub == "*" || sub == of_sub)
}

/// The endpoints of a Service.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    /// Whether one of them gets requests.
    pub is_ready: bool,
    /// The time at which they last changed, in seconds since 1970.
    pub changed: i64,
}

#[derive(Deserialize)]
struct Configuration {
    metadata: ObjectMeta,
    #[serde(default)]
    webhooks: Vec<RawWebhook>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawWebhook {
    name: String,
    client_config: WebhookClientConfig,
    failure_policy: Option<String>,
    #[serde(default)]
    rules: Vec<RuleWithOperations>,
    #[serde(default)]
    match_conditions: Vec<IgnoredAny>,
    #[serde(default)]
    namespace_selector: LabelSelector,
    #[serde(default)]
    object_selector: LabelSelector,
}

impl Webhook {
    /// Reads a configuration: its webhooks without which pods cannot be created or nodes not be
    /// changed. setguard's own webhooks are not among them.
    pub(super) fn read(kind: Kind, json: &str) -> serde_json::Result<Vec<Self>> {
        let Configuration { metadata, webhooks } = serde_json::from_str(json)?;
        let created = metadata.creation_timestamp.map_or(0, |it| it.0.as_second());
        let [name, uid] = [metadata.name, metadata.uid].map(Option::unwrap_or_default);
        let needed = webhooks.into_iter().filter(|it| {
            it.failure_policy.as_deref().unwrap_or("Fail") == "Fail"
                && !it.name.ends_with(".setguard.io")
        });
        let calls = |it: &RawWebhook| {
            let asks = |call: &Call| it.rules.iter().any(|rule| call.is_asked_by(rule));
            Call::ALL.into_iter().filter(asks).collect::<BTreeSet<_>>()
        };
        let read = |it: RawWebhook| Webhook {
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
            has_conditions: !it.match_conditions.is_empty(),
            namespaces: it.namespace_selector,
            objects: it.object_selector,
        };
        Ok(needed.map(read).filter(|it| !it.calls.is_empty()).collect())
    }
}

impl Endpoints {
    /// Reads a slice of the endpoints of a Service, with the namespace and name of the Service.
    pub(super) fn read(json: &str) -> serde_json::Result<Option<(Name, Self)>> {
        let EndpointSlice { endpoints, metadata, .. } = serde_json::from_str(json)?;
        let service = metadata.labels.and_then(|mut it| it.remove("kubernetes.io/service-name"));
        let managed = metadata.managed_fields.into_iter().flatten().filter_map(|it| it.time);
        let times = managed.chain(metadata.creation_timestamp).map(|it| it.0.as_second());
        let mut conditions = endpoints.into_iter().flatten().map(|it| it.conditions);
        let endpoints = Endpoints {
            is_ready: conditions.any(|it| it.and_then(|it| it.ready).unwrap_or(true)),
            changed: times.max().unwrap_or_default(),
        };
        let namespace = metadata.namespace.unwrap_or_default();
        Ok(service.map(|service| ((namespace.into(), service.into()), endpoints)))
    }

    /// Adds another slice of the same Service.
    pub(super) fn add(&mut self, other: Endpoints) {
        self.is_ready |= other.is_ready;
        self.changed = self.changed.max(other.changed);
    }
}
