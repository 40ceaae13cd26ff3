//! Webhooks of other programs that the API server cannot call.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::phrases::{at, sets_of, since};
use crate::{
    kubernetes::{kind::Kind, selector},
    observed::{Call, Webhook, WorkloadStatus},
    rules::rule::status::{Audit, StatusQuery},
};

/// The reason why a webhook cannot be called.
pub(in crate::rules) enum CallFailure<'a> {
    /// No endpoint of the Service gets requests, since this time.
    NoEndpoint(&'a str, &'a str, i64),
    /// The Service does not exist.
    NoService(&'a str, &'a str),
    /// The certificates that the configuration trusts have expired at this time.
    Expired(i64),
}

impl<'a> CallFailure<'a> {
    /// Returns the reason why a webhook cannot be called, if one is known and has lasted.
    pub(in crate::rules) fn of(audit: &Audit<'_>, webhook: &'a Webhook) -> Option<Self> {
        let observed = audit.observed;
        let long = |since: &i64| audit.is_long_ago(*since);
        if let Some(expired) = webhook.expired.filter(long) {
            return Some(CallFailure::Expired(expired));
        }
        let service = webhook.service.as_ref()?;
        let (namespace, name) = (&*service.0, &*service.1);
        if !observed.knows(Kind::Service, namespace)
            || !observed.knows(Kind::EndpointSlice, namespace)
        {
            return None;
        }
        match observed.endpoints(service) {
            Some(endpoints) if !endpoints.is_ready && long(&endpoints.changed) => {
                Some(CallFailure::NoEndpoint(namespace, name, endpoints.changed))
            }
            None if !observed.exists(Kind::Service, namespace, name) && long(&webhook.created) => {
                Some(CallFailure::NoService(namespace, name))
            }
            // A Service of the type ExternalName has no slices.
            _ => None,
        }
    }

    /// Describes the fault.
    pub(in crate::rules) fn text(&self) -> String {
        match self {
            CallFailure::NoEndpoint(namespace, name, changed) => {
                format!("Service {namespace}/{name} has had no ready endpoint {}", since(*changed))
            }
            CallFailure::NoService(namespace, name) => {
                format!("Service {namespace}/{name} does not exist")
            }
            CallFailure::Expired(expired) => {
                format!("the certificate in its caBundle has expired ({})", at(*expired))
            }
        }
    }
}

/// Returns whether a webhook is called for such a request about a pod or a claim of a set, as far as that can
/// be known.
pub(in crate::rules) fn selects(
    audit: &Audit<'_>,
    webhook: &Webhook,
    set: &WorkloadStatus,
    call: Call,
) -> bool {
    let objects = &webhook.objects;
    let is_selected = || match call {
        // A binding has no labels, and the labels of claims are not known.
        Call::BoundPod => *objects == LabelSelector::default(),
        Call::NewClaim => *objects == LabelSelector::default() && set.has_claim_templates(),
        _ => selector::parses(objects) && selector::matches_labels(objects, set.pod_labels()),
    };
    webhook.calls.contains(&call)
        && !webhook.has_conditions
        && selects_namespace(audit, webhook, set.namespace())
        && is_selected()
}

/// The requests about pods, and what a pod cannot do without them.
const OF_PODS: [(Call, &str); 4] = [
    (Call::NewPod, "be created"),
    (Call::BoundPod, "get a node"),
    (Call::PodStatus, "be reported as ready"),
    (Call::GonePod, "be deleted"),
];

/// Returns the consequences for sets of a webhook that is down. `refuses` is whether refusals name it: then it
/// is known that no pod or claim can be created.
pub(in crate::rules) fn effects_on_sets(
    audit: &Audit<'_>,
    webhook: &Webhook,
    refuses: bool,
) -> Vec<String> {
    let selected = |call: Call| {
        let sets = audit.observed.sets().filter(|set| selects(audit, webhook, set, call));
        Some(sets.collect::<Vec<&WorkloadStatus>>())
            .filter(|it| !it.is_empty())
            .map(|it| sets_of(&it))
    };
    // By the sets, in the order of the requests.
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (call, verb) in OF_PODS.into_iter().filter(|(call, _)| !(refuses && *call == Call::NewPod))
    {
        let Some(sets) = selected(call) else { continue };
        match groups.iter_mut().find(|(others, _)| *others == sets) {
            Some((_, verbs)) => verbs.push(verb),
            None => groups.push((sets, vec![verb])),
        }
    }
    let effects = groups.into_iter().map(|(sets, verbs)| match verbs.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("no pod of {sets} can {} or {last}", rest.join(", "))
        }
        _ => format!("no pod of {sets} can {}", verbs.concat()),
    });
    let claims = selected(Call::NewClaim).filter(|_| !refuses);
    effects.chain(claims.map(|sets| format!("no claim of {sets} can be created"))).collect()
}

/// Returns whether a webhook is called for objects in a namespace.
pub(in crate::rules) fn selects_namespace(
    audit: &Audit<'_>,
    webhook: &Webhook,
    namespace: &str,
) -> bool {
    audit.observed.labels_of_namespace(namespace).is_some_and(|labels| {
        selector::parses(&webhook.namespaces)
            && selector::matches_labels(&webhook.namespaces, Some(labels))
    })
}

/// Returns the consequences for nodes of a webhook that is called for them and is down.
///
/// The namespace selector does not matter to nodes. Kubernetes: `MatchNamespaceSelector`, apiserver
/// pkg/admission/plugin/webhook/predicates/namespace/matcher.go.
pub(in crate::rules) fn effects_on_nodes(
    audit: &Audit<'_>,
    webhook: &Webhook,
) -> Vec<&'static str> {
    let objects = &webhook.objects;
    if webhook.has_conditions || !selector::parses(objects) {
        return Vec::new();
    }
    let mut nodes = audit.observed.nodes();
    let is_for_nodes = *objects == LabelSelector::default()
        || nodes.any(|node| selector::matches_labels(objects, Some(&node.place.labels)));
    let effect = |call: &Call| match call {
        Call::NewPod | Call::BoundPod | Call::PodStatus | Call::GonePod | Call::NewClaim => None,
        Call::NewNode => is_for_nodes.then_some("no node can join"),
        Call::ChangedNode => is_for_nodes.then_some("no node can be cordoned, drained or tainted"),
        Call::NodeStatus => is_for_nodes.then_some("no kubelet can report the state of its node"),
        Call::Lease => {
            let is_called = *objects == LabelSelector::default()
                && selects_namespace(audit, webhook, "kube-node-lease");
            is_called
                .then_some("no kubelet can renew its lease, so that all nodes become not ready")
        }
    };
    webhook.calls.iter().filter_map(effect).collect()
}

/// Returns the fault of a webhook that is called for such a request about a set and is known to be down. It may refuse
/// events too, so that no event shows it.
pub(in crate::rules) fn down_for(query: &StatusQuery<'_>, call: Call) -> Option<String> {
    let mut all = query.audit.observed.webhooks().iter();
    all.find_map(|it| {
        let fault = CallFailure::of(query.audit, it)
            .filter(|_| selects(query.audit, it, query.set, call))?;
        Some(cannot_be_called(it, &fault))
    })
}

/// Returns the fault of the webhook that a message names because it cannot be called.
pub(in crate::rules) fn fault_of_named(query: &StatusQuery<'_>, message: &str) -> Option<String> {
    let name = failing(message)?;
    let mut all = query.audit.observed.webhooks().iter().filter(|it| *it.name == *name);
    let (webhook, fault) = all.find_map(|it| Some((it, CallFailure::of(query.audit, it)?)))?;
    Some(cannot_be_called(webhook, &fault))
}

/// Names a webhook that cannot be called, and says why.
pub(in crate::rules) fn cannot_be_called(webhook: &Webhook, fault: &CallFailure<'_>) -> String {
    let Webhook { kind, configuration, .. } = webhook;
    format!("the webhook of {kind} {configuration} cannot be called: {}", fault.text())
}

/// Returns the name of the webhook that could not be called, from the message of a refusal.
pub(in crate::rules) fn failing(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("failed calling webhook \"")?;
    rest.split_once('"').map(|(name, _)| name)
}
