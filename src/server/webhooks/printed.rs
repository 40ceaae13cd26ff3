//! The webhook configurations that `serve` prints for a first try.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MutatingWebhook, MutatingWebhookConfiguration, ValidatingWebhook,
        ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta},
};

use super::{Registration, SCALE, registrations};

/// The name of both configurations.
pub const NAME: &str = "setguard";

/// Returns both configurations for a server at this host and port with this CA (PEM), as YAML for
/// `kubectl apply -f -`.
///
/// # Errors
/// Returns an error if they cannot be serialized as YAML, which should never happen for any host or
/// CA.
pub fn yaml(host: &str, port: u16, ca: &str) -> anyhow::Result<String> {
    let at = Address { host, port, ca };
    let validating = serde_saphyr::to_string(&validating(&at))?;
    let mutating = serde_saphyr::to_string(&mutating(&at))?;
    Ok(format!("---\n{}\n---\n{}\n", validating.trim_end(), mutating.trim_end()))
}

/// The address of the server, and its CA.
struct Address<'a> {
    host: &'a str,
    port: u16,
    ca: &'a str,
}

impl Address<'_> {
    fn client_config(&self, path: &str) -> WebhookClientConfig {
        let (host, port) = (self.host, self.port);
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
    ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() }
}

/// The configuration fails closed while the server is down, except in kube-system, which it skips:
/// a cluster must be able to repair itself.
fn validating(at: &Address<'_>) -> ValidatingWebhookConfiguration {
    let validating = registrations().into_iter().filter(|it| it.validates() && it.key != SCALE);
    let webhooks = validating.map(|one| validating_webhook(at, one)).collect();
    ValidatingWebhookConfiguration { metadata: metadata(), webhooks: Some(webhooks) }
}

fn validating_webhook(at: &Address<'_>, registration: Registration) -> ValidatingWebhook {
    let not_kube_system = LabelSelectorRequirement {
        key: "kubernetes.io/metadata.name".to_owned(),
        operator: "NotIn".to_owned(),
        values: Some(vec!["kube-system".to_owned()]),
    };
    let conditions = registration.match_conditions;
    ValidatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: at.client_config(registration.path),
        failure_policy: Some("Fail".to_owned()),
        match_conditions: (!conditions.is_empty()).then_some(conditions),
        match_policy: Some("Equivalent".to_owned()),
        name: registration.name.to_owned(),
        namespace_selector: Some(LabelSelector {
            match_expressions: Some(vec![not_kube_system]),
            match_labels: None,
        }),
        rules: Some(registration.rules),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(5),
        ..ValidatingWebhook::default()
    }
}

fn mutating(at: &Address<'_>) -> MutatingWebhookConfiguration {
    let mutating = registrations().into_iter().filter(|one| !one.validates());
    let webhooks = mutating.map(|one| mutating_webhook(at, one)).collect();
    MutatingWebhookConfiguration { metadata: metadata(), webhooks: Some(webhooks) }
}

fn mutating_webhook(at: &Address<'_>, registration: Registration) -> MutatingWebhook {
    MutatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: at.client_config(registration.path),
        failure_policy: Some("Ignore".to_owned()),
        match_conditions: Some(registration.match_conditions),
        match_policy: Some("Equivalent".to_owned()),
        name: registration.name.to_owned(),
        namespace_selector: selector(&registration.namespace_labels),
        object_selector: selector(&registration.object_labels),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        rules: Some(registration.rules),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(5),
    }
}

/// Returns a selector of these labels, or `None`, which selects everything, if there are none.
fn selector(labels: &BTreeMap<&str, &str>) -> Option<LabelSelector> {
    let owned = labels.iter().map(|(&key, &value)| (key.to_owned(), value.to_owned()));
    let match_labels = Some(owned.collect());
    (!labels.is_empty()).then_some(LabelSelector { match_expressions: None, match_labels })
}

#[cfg(test)]
mod tests {
    use super::{super::traps_before, *};
    use crate::yaml;

    #[test]
    fn what_is_printed_is_what_was_meant() {
        let text = super::yaml("::1", 8443, "PEM\n").unwrap();
        let documents: Vec<serde_json::Value> = yaml::parse(&text)
            .into_iter()
            .map(|document| serde_json::from_str(&document.unwrap().root.to_json()).unwrap())
            .collect();
        let at = Address { host: "::1", port: 8443, ca: "PEM\n" };
        assert_eq!(documents[0], serde_json::to_value(validating(&at)).unwrap());
        assert_eq!(documents[1], serde_json::to_value(mutating(&at)).unwrap());
        assert_eq!(documents.len(), 2);
        // Each trap that needs to see the object before validation is in the condition.
        let warned = documents[1]["webhooks"][1]["matchConditions"][1]["expression"].as_str();
        for (trap, _, sent_if) in traps_before() {
            assert!(warned.unwrap().contains(sent_if), "{}", trap.meta.id);
        }
        // The API server evaluates no condition for the creation of a DaemonSet without the label.
        let webhooks = documents[1]["webhooks"].as_array().unwrap();
        for webhook in webhooks.iter().filter(|webhook| webhook.get("objectSelector").is_none()) {
            let mut rules = webhook["rules"].as_array().unwrap().iter();
            let creates = rules.any(|rule| {
                rule["resources"][0] == "daemonsets" && rule["operations"][0] == "CREATE"
            });
            assert!(!creates || webhook.get("namespaceSelector").is_some(), "{webhook}");
        }
        let webhook = &webhooks[3];
        assert_eq!(webhook["clientConfig"]["url"], "https://[::1]:8443/mutate/control-plane");
        assert_eq!(
            webhook["namespaceSelector"]["matchLabels"]["setguard.io/control-plane"],
            "true"
        );
    }
}
