//! The webhook configurations that `serve` prints for a first try.

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
        ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta},
};

use crate::{
    admission::Endpoint,
    inject::CONTROL_PLANE_LABEL,
    subject::{Kind, RESOURCES, Resource},
};

/// Only pods into which something could be injected are sent. See `inject::pod`.
const DAEMON_PODS: &str = "(has(object.metadata.annotations) && 'setguard.io/node' in \
     object.metadata.annotations) || (has(object.metadata.ownerReferences) && \
     object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && \
     o.kind == 'DaemonSet'))";

/// Both configurations for a server at this host, as YAML for `kubectl apply -f -`.
///
/// # Errors
/// When they cannot be written as YAML, which no host or authority makes happen.
pub fn yaml(host: &str, port: u16, ca: &str) -> anyhow::Result<String> {
    let at = At { host, port, ca };
    let validating = serde_saphyr::to_string(&validating(&at))?;
    let mutating = serde_saphyr::to_string(&mutating(&at))?;
    Ok(format!("---\n{}\n---\n{}\n", validating.trim_end(), mutating.trim_end()))
}

/// Where the server is.
struct At<'a> {
    host: &'a str,
    port: u16,
    ca: &'a str,
}

impl At<'_> {
    fn client_config(&self, endpoint: Endpoint) -> WebhookClientConfig {
        let (host, port, path) = (self.host, self.port, endpoint.path());
        let url = if host.contains(':') {
            format!("https://[{host}]:{port}{path}")
        } else {
            format!("https://{host}:{port}{path}")
        };
        WebhookClientConfig {
            ca_bundle: Some(ByteString(self.ca.as_bytes().to_vec())),
            service: None,
            url: Some(url),
        }
    }
}

fn metadata() -> ObjectMeta {
    ObjectMeta { name: Some("setguard".to_owned()), ..ObjectMeta::default() }
}

fn rule(group: &str, version: &str, resource: &str, operations: &[&str]) -> RuleWithOperations {
    let owned = |list: &[&str]| Some(list.iter().map(|&item| item.to_owned()).collect());
    RuleWithOperations {
        api_groups: owned(&[group]),
        api_versions: owned(&[version]),
        operations: owned(operations),
        resources: owned(&[resource]),
        scope: Some("Namespaced".to_owned()),
    }
}

fn workload(r: &Resource) -> RuleWithOperations {
    rule(r.group, r.version, r.resource, &["CREATE", "UPDATE"])
}

/// What is judged: a rule for each of [`RESOURCES`].
fn workloads() -> Vec<RuleWithOperations> {
    RESOURCES.iter().map(workload).collect()
}

/// Refuses when the server is away, but not in kube-system: a cluster must be able to repair itself.
fn validating(at: &At<'_>) -> ValidatingWebhookConfiguration {
    let not_kube_system = LabelSelectorRequirement {
        key: "kubernetes.io/metadata.name".to_owned(),
        operator: "NotIn".to_owned(),
        values: Some(vec!["kube-system".to_owned()]),
    };
    let webhook = ValidatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: at.client_config(Endpoint::Validate),
        failure_policy: Some("Fail".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        name: "validate.setguard.io".to_owned(),
        namespace_selector: Some(LabelSelector {
            match_expressions: Some(vec![not_kube_system]),
            match_labels: None,
        }),
        rules: Some(workloads()),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(5),
        ..ValidatingWebhook::default()
    };
    ValidatingWebhookConfiguration { metadata: metadata(), webhooks: Some(vec![webhook]) }
}

fn mutating(at: &At<'_>) -> MutatingWebhookConfiguration {
    let pods = MutatingWebhook {
        match_conditions: Some(vec![MatchCondition {
            name: "daemon-pods".to_owned(),
            expression: DAEMON_PODS.to_owned(),
        }]),
        rules: Some(vec![rule("", "v1", "pods", &["CREATE"])]),
        ..mutating_webhook(at, "pods.mutate.setguard.io", Endpoint::Mutate)
    };
    let sets = MutatingWebhook {
        rules: Some(workloads()),
        ..mutating_webhook(at, "workloads.mutate.setguard.io", Endpoint::Mutate)
    };
    let asked = [(CONTROL_PLANE_LABEL.to_owned(), "true".to_owned())];
    let daemon_sets = RESOURCES.iter().filter(|r| r.kind == Kind::DaemonSet);
    let control_plane = MutatingWebhook {
        namespace_selector: Some(LabelSelector {
            match_expressions: None,
            match_labels: Some(asked.into()),
        }),
        rules: Some(daemon_sets.map(workload).collect()),
        ..mutating_webhook(at, "control-plane.mutate.setguard.io", Endpoint::MutateControlPlane)
    };
    MutatingWebhookConfiguration {
        metadata: metadata(),
        webhooks: Some(vec![pods, sets, control_plane]),
    }
}

fn mutating_webhook(at: &At<'_>, name: &str, endpoint: Endpoint) -> MutatingWebhook {
    MutatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: at.client_config(endpoint),
        failure_policy: Some("Ignore".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        name: name.to_owned(),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(5),
        ..MutatingWebhook::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn what_is_printed_is_what_was_meant() {
        let text = super::yaml("::1", 8443, "PEM\n").unwrap();
        let documents: Vec<serde_json::Value> = yaml::parse(&text)
            .into_iter()
            .map(|document| serde_json::from_str(&document.unwrap().root.to_json()).unwrap())
            .collect();
        let at = At { host: "::1", port: 8443, ca: "PEM\n" };
        assert_eq!(documents[0], serde_json::to_value(validating(&at)).unwrap());
        assert_eq!(documents[1], serde_json::to_value(mutating(&at)).unwrap());
        assert_eq!(documents.len(), 2);
        let webhook = &documents[1]["webhooks"][2];
        assert_eq!(webhook["clientConfig"]["url"], "https://[::1]:8443/mutate/control-plane");
        assert_eq!(
            webhook["namespaceSelector"]["matchLabels"]["setguard.io/control-plane"],
            "true"
        );
    }
}
