//! Webhooks of other programs that the API server cannot call.

use crate::observed::Webhook;
use crate::rules::prelude::*;

pub(in crate::rules) enum CallFailure<'a> {
    /// No endpoint of the Service has received requests since this time, in seconds since 1970.
    NoEndpoint(&'a str, &'a str, i64),
    NoService(&'a str, &'a str),
    /// When the last trusted certificate expired, in seconds since 1970.
    Expired(i64),
}

impl<'a> CallFailure<'a> {
    /// Returns a known and lasting reason why a webhook cannot be called.
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
            // A Service of type ExternalName has no EndpointSlices.
            _ => None,
        }
    }

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

/// Returns whether the API server certainly calls a webhook for such a request about the set.
pub(in crate::rules) fn selects(
    audit: &Audit<'_>,
    webhook: &Webhook,
    set: &WorkloadStatus,
    call: Call,
) -> bool {
    let objects = &webhook.objects;
    let is_selected = || match call {
        // A binding has no labels, and the labels of claims are unknown.
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

/// Describes the effects of a failing webhook on sets. If `refuses`, the creation of pods and claims is already
/// reported.
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
    // Verbs by the sets that they affect.
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

pub(in crate::rules) fn selects_namespace(
    audit: &Audit<'_>,
    webhook: &Webhook,
    namespace: &str,
) -> bool {
    audit.observed.namespaces.get(namespace).is_some_and(|labels| {
        selector::parses(&webhook.namespaces)
            && selector::matches_labels(&webhook.namespaces, Some(labels))
    })
}

/// Describes the effects of a failing webhook on nodes.
///
/// The namespace selector does not apply to nodes. Kubernetes: `MatchNamespaceSelector`, apiserver
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

/// Returns the fault of a failing webhook that the API server calls for such a request about the set. The webhook may
/// also refuse events, so that no event reports it.
pub(in crate::rules) fn down_for(query: &StatusQuery<'_>, call: Call) -> Option<String> {
    let mut all = query.audit.observed.webhooks.iter();
    all.find_map(|it| {
        let fault = CallFailure::of(query.audit, it)
            .filter(|_| selects(query.audit, it, query.set, call))?;
        Some(cannot_be_called(it, &fault))
    })
}

/// Returns the fault of the webhook that a message reports as failing.
pub(in crate::rules) fn fault_of_named(query: &StatusQuery<'_>, message: &str) -> Option<String> {
    let name = failing(message)?;
    let mut all = query.audit.observed.webhooks.iter().filter(|it| *it.name == *name);
    let (webhook, fault) = all.find_map(|it| Some((it, CallFailure::of(query.audit, it)?)))?;
    Some(cannot_be_called(webhook, &fault))
}

pub(in crate::rules) fn cannot_be_called(webhook: &Webhook, fault: &CallFailure<'_>) -> String {
    let Webhook { kind, configuration, .. } = webhook;
    format!("the webhook of {kind} {configuration} cannot be called: {}", fault.text())
}

/// Returns the name of the failing webhook in a refusal.
pub(in crate::rules) fn failing(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("failed calling webhook \"")?;
    rest.split_once('"').map(|(name, _)| name)
}
