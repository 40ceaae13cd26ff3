//! The webhook registrations: the requests that the API server sends to setguard, and their paths.
//!
//! One list, [`registrations`], is the source of the configurations that `serve` prints for a first
//! try, and of those in the Helm chart: the chart reads `charts/setguard/files/webhook-rules.yaml`.

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{MatchCondition, RuleWithOperations},
};
use serde::Serialize;
use setguard_core::{
    kubernetes::resource::WorkloadKind,
    object::annotations::CONTROL_PLANE_LABEL,
    rules::{
        rule::{Operation, Phase, Rule},
        traps,
    },
};

use crate::server::prelude::*;

/// Selects the pods that setguard may inject into. See `inject::pod`.
const DAEMON_PODS: &str = "(has(object.metadata.annotations) && 'setguard.io/node' in \
     object.metadata.annotations) || (has(object.metadata.ownerReferences) && \
     object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && \
     o.kind == 'DaemonSet'))";

/// Excludes objects that are being deleted. setguard always allows such writes, and clients can remove finalizers even
/// while setguard is down. The expression reads the old object, because a client may write anything into the new one.
const NOT_BEING_DELETED: &str = "oldObject == null || !has(oldObject.metadata.deletionTimestamp)";

/// Selects the writes to the scale subresource that remove pods.
const SCALES_DOWN: &str = "object.spec.?replicas.orValue(0) < oldObject.spec.?replicas.orValue(0)";

const CREATE: &[&str] = &["CREATE"];
/// The key of the registration for the scale subresource.
pub const SCALE: &str = "scale";

const UPDATE: &[&str] = &["UPDATE"];
const ANY: &[&str] = &["CREATE", "UPDATE"];

/// Traps that see an object in `/mutate`, each with the operations that it checks and the condition for a finding.
fn traps_before() -> impl Iterator<Item = (&'static Rule, &'static [Operation], &'static str)> {
    traps().filter_map(|trap| match trap.phase() {
        Some(Phase::Before { operations, sent_if }) => Some((trap, operations, sent_if)),
        Some(Phase::Manifest | Phase::Warned | Phase::After) | None => None,
    })
}

/// Selects the sets that `/mutate` may warn about. The API server sends all others only once, for validation.
fn could_be_warned_of() -> String {
    let conditions = traps_before().map(|(trap, _, sent_if)| match trap.kinds()[..] {
        [kind] => format!("(request.kind.kind == '{kind}' && ({sent_if}))"),
        _ => format!("({sent_if})"),
    });
    conditions.collect::<Vec<_>>().join(" || ")
}

/// The writes that at least one of those traps checks.
///
/// Keep them few: for a condition, the API server converts the request and its objects, and that costs more than the
/// condition itself. Rules and selectors cost next to nothing.
fn looked_at_before() -> Vec<RuleWithOperations> {
    let rule_of = |r: &Resource| {
        let is_built_in = r.group == "apps";
        let traps = traps_before().filter(|(trap, ..)| {
            let applies = is_built_in || trap.covers_openkruise();
            applies && trap.is_about(r.kind.into())
        });
        let operations: BTreeSet<&str> =
            traps.flat_map(|(_, operations, _)| operations).map(|it| it.as_str()).collect();
        let operations: Vec<&str> = operations.into_iter().collect();
        (!operations.is_empty()).then(|| rule(r.group, r.version, r.plural, &operations))
    };
    RESOURCES.iter().filter_map(rule_of).collect()
}

/// The part of an entry in a webhook configuration that the code determines. The client config, the timeout and the
/// failure policy are up to the user who installs setguard.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// The key in the chart's values.
    #[serde(skip)]
    pub key: &'static str,
    /// The name in the webhook configuration and in the API server's messages.
    pub name: &'static str,
    /// The path that answers the requests.
    pub path: &'static str,
    /// The requests that the webhook matches.
    pub rules: Vec<RuleWithOperations>,
    /// Conditions that skip requests that setguard need not see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<MatchCondition>,
    /// The labels that select the namespaces; if empty, all namespaces.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace_labels: BTreeMap<&'static str, &'static str>,
    /// The labels that select the objects; if empty, all objects.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub object_labels: BTreeMap<&'static str, &'static str>,
}

impl Registration {
    fn new(
        key: &'static str,
        name: &'static str,
        endpoint: Endpoint,
        rules: Vec<RuleWithOperations>,
    ) -> Self {
        Registration { key, name, path: endpoint.path(), rules, ..Registration::default() }
    }

    fn only_if<const N: usize>(mut self, conditions: [MatchCondition; N]) -> Self {
        self.match_conditions = conditions.into();
        self
    }

    fn validates(&self) -> bool {
        self.path == Endpoint::Validate.path()
    }
}

/// Returns all registrations: the validating ones, then the mutating ones.
///
/// A creation is never the write of an object that is being deleted, so creations have an entry without that condition:
/// it would cost the API server more than the call costs setguard.
///
/// The API server sends writes to the scale subresource only if the policy has a limit for them.
pub fn registrations() -> [Registration; 7] {
    let (validate, mutate) = (Endpoint::Validate, Endpoint::Mutate);
    let workloads = |operations| RESOURCES.iter().map(|r| workload(r, operations)).collect();
    let scale = vec![rule("apps", "v1", "statefulsets/scale", UPDATE)];
    let down = condition("scales-down", SCALES_DOWN);
    let pods = vec![rule("", "v1", "pods", CREATE)];
    let daemons = condition("daemon-pods", DAEMON_PODS);
    let warned = condition("could-be-warned-of", &could_be_warned_of());
    let daemon_sets = RESOURCES.iter().filter(|r| r.kind == WorkloadKind::DaemonSet);
    let daemon_sets: Vec<_> = daemon_sets.map(|r| workload(r, ANY)).collect();
    let label = BTreeMap::from([(CONTROL_PLANE_LABEL, "true")]);
    let new = Registration::new;
    let labelled = new("labelled", "labelled.mutate.setguard.io", mutate, daemon_sets.clone());
    let control_plane = Endpoint::MutateControlPlane;
    let control_plane =
        new("controlPlane", "control-plane.mutate.setguard.io", control_plane, daemon_sets);
    [
        new("validate", "validate.setguard.io", validate, workloads(UPDATE))
            .only_if([not_being_deleted()]),
        new("validateCreated", "create.validate.setguard.io", validate, workloads(CREATE)),
        new(SCALE, "scale.validate.setguard.io", validate, scale).only_if([down]),
        new("pods", "pods.mutate.setguard.io", mutate, pods).only_if([daemons]),
        new("workloads", "workloads.mutate.setguard.io", mutate, looked_at_before())
            .only_if([not_being_deleted(), warned]),
        // The last two are for injection into a template. See `inject::template` for the label.
        Registration { object_labels: label.clone(), ..labelled.only_if([not_being_deleted()]) },
        Registration { namespace_labels: label, ..control_plane.only_if([not_being_deleted()]) },
    ]
}

fn condition(name: &str, expression: &str) -> MatchCondition {
    MatchCondition { name: name.to_owned(), expression: expression.to_owned() }
}

fn not_being_deleted() -> MatchCondition {
    condition("not-being-deleted", NOT_BEING_DELETED)
}

/// Returns the content of `charts/setguard/files/webhook-rules.yaml`, or an error if it cannot be serialized as YAML.
pub fn chart_yaml() -> anyhow::Result<String> {
    let mut out = String::from(
        "# Written from the code: UPDATE_GENERATED=1 cargo test --test it generated\n",
    );
    for registration in registrations() {
        let of_key = BTreeMap::from([(registration.key, &registration)]);
        out.push_str(serde_saphyr::to_string(&of_key)?.trim_end());
        out.push('\n');
    }
    Ok(out)
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

fn workload(r: &Resource, operations: &[&str]) -> RuleWithOperations {
    rule(r.group, r.version, r.plural, operations)
}

/// The name of both configurations that `serve` prints.
pub const NAME: &str = "setguard";

/// Returns both configurations for a server at this host and port with this CA (PEM), as YAML for `kubectl apply -f -`,
/// or an error if they cannot be serialized as YAML.
pub fn printed(host: &str, port: u16, ca: &str) -> anyhow::Result<String> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let mut text = String::new();
    for validates in [true, false] {
        let registrations = registrations().into_iter();
        let own = registrations.filter(|it| it.validates() == validates && it.key != SCALE);
        let webhooks: Vec<_> =
            own.map(|it| webhook(&it, &format!("https://{host}:{port}{}", it.path), ca)).collect();
        let kind = if validates { "Validating" } else { "Mutating" };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": NAME},
            "webhooks": webhooks,
        });
        let yaml = serde_saphyr::to_string(&configuration)?;
        text.push_str(&format!("---\n{}\n", yaml.trim_end()));
    }
    Ok(text)
}

/// Validation fails closed while the server is down. It skips kube-system, so that a cluster can repair itself.
fn webhook(registration: &Registration, url: &str, ca: &str) -> Value {
    let validates = registration.validates();
    let not_kube_system = json!({
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]},
        ],
    });
    // Without labels, everything is selected.
    let selector = |labels: &BTreeMap<&str, &str>| {
        (!labels.is_empty()).then(|| json!({"matchLabels": labels}))
    };
    let namespaces = selector(&registration.namespace_labels);
    let conditions = &registration.match_conditions;
    let mut webhook = json!({
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"caBundle": ByteString(ca.as_bytes().to_vec()), "url": url},
        "failurePolicy": if validates { "Fail" } else { "Ignore" },
        "matchConditions": (!conditions.is_empty()).then_some(conditions),
        "matchPolicy": "Equivalent",
        "name": registration.name,
        "namespaceSelector": if validates { Some(not_kube_system) } else { namespaces },
        "objectSelector": selector(&registration.object_labels),
        "reinvocationPolicy": (!validates).then_some("IfNeeded"),
        "rules": registration.rules,
        "sideEffects": "None",
        "timeoutSeconds": 5,
    });
    if let Some(fields) = webhook.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    webhook
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
    };

    use super::*;

    #[test]
    fn what_is_printed_is_what_was_meant() {
        let text = printed("::1", 8443, "PEM\n").unwrap();
        let documents: Vec<Value> = kube_yaml::parse(&text)
            .into_iter()
            .map(|document| serde_json::from_str(&document.unwrap().root.to_json()).unwrap())
            .collect();
        let typed: ValidatingWebhookConfiguration =
            serde_json::from_value(documents[0].clone()).unwrap();
        assert_eq!(documents[0], json!(typed));
        let typed: MutatingWebhookConfiguration =
            serde_json::from_value(documents[1].clone()).unwrap();
        assert_eq!(documents[1], json!(typed));
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
