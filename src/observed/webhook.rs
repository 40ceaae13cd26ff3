//! Webhooks that the API server calls when a pod is created, and the endpoints of their Services.

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

/// A webhook without which no pod can be created: it is called for new pods, and its
/// `failurePolicy` is `Fail`.
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
    webhooks: Vec<Raw>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
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
    /// Reads a configuration: its webhooks without which no pod can be created. setguard's own
    /// webhooks are not among them.
    pub(super) fn read(kind: Kind, json: &str) -> serde_json::Result<Vec<Self>> {
        let Configuration { metadata, webhooks } = serde_json::from_str(json)?;
        let created = metadata.creation_timestamp.map_or(0, |it| it.0.as_second());
        let [name, uid] = [metadata.name, metadata.uid].map(Option::unwrap_or_default);
        let needed = webhooks.into_iter().filter(|it| {
            it.failure_policy.as_deref().unwrap_or("Fail") == "Fail"
                && !it.name.ends_with(".setguard.io")
                && it.rules.iter().any(is_about_new_pods)
        });
        let read = |it: Raw| Webhook {
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
        Ok(needed.map(read).collect())
    }
}

/// Returns whether a rule is about the creation of pods.
///
/// Kubernetes: `Matcher`, apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go.
fn is_about_new_pods(rule: &RuleWithOperations) -> bool {
    let has = |list: &Option<Vec<String>>, words: &[&str]| {
        list.iter().flatten().any(|it| words.contains(&it.as_str()))
    };
    has(&rule.operations, &["CREATE", "*"])
        && has(&rule.api_groups, &["", "*"])
        && has(&rule.api_versions, &["v1", "*"])
        && has(&rule.resources, &["pods", "*", "*/*"])
        && rule.scope.as_deref() != Some("Cluster")
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
