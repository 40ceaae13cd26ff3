use super::status::webhooks::{
    CallFailure, effects_on_nodes, effects_on_sets, failing, selects_namespace,
};
use crate::observed::Webhook;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "webhook-down", group: Cluster;
    title: "a webhook cannot be called",
    summary: "a webhook that cannot be called, so that pods, claims or nodes are refused",
    scopes: [Scope::Status {
        kinds: &[Kind::MutatingWebhookConfiguration, Kind::ValidatingWebhookConfiguration],
        check: StatusCheck::Others(check),
    }],
};

/// A webhook without a known fault is reported if the refusals of this many sets name it.
const SEVERAL: usize = 2;

/// A set whose pods a webhook refuses by not answering, and since when.
type Refused<'a> = (&'a WorkloadStatus, String, i64);

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let webhooks = &audit.observed.webhooks;
    if webhooks.is_empty() {
        return;
    }
    let refused = audit.observed.sets().filter(|set| set.is_current()).filter_map(|set| {
        let refusal = Refusal::of_creation(&StatusQuery { set, audit })?;
        let name = failing(&refusal.message)?.to_owned();
        Some((set, name, refusal.since))
    });
    let refused: Vec<Refused<'_>> = refused.collect();
    let mut known: Vec<(Kind, &str)> = Vec::new();
    for webhook in webhooks {
        // One finding for a configuration.
        let configuration = (webhook.kind, &*webhook.configuration);
        if known.contains(&configuration) {
            continue;
        }
        if let Some(report) = report(audit, webhook, &refused) {
            known.push(configuration);
            found.add(report);
        }
    }
}

fn report(audit: &Audit<'_>, webhook: &Webhook, refused: &[Refused<'_>]) -> Option<StatusFinding> {
    let here = refused.iter().filter(|(_, name, _)| **name == *webhook.name);
    let (sets, times): (Vec<&WorkloadStatus>, Vec<i64>) =
        here.map(|(set, _, at)| (*set, *at)).unzip();
    let fault = CallFailure::of(audit, webhook);
    let why = match &fault {
        Some(fault) => fault.text(),
        None if sets.len() >= SEVERAL => "the API server cannot call it".to_owned(),
        None => return None,
    };
    let what = if webhook.calls.contains(&Call::NewPod) { "pods" } else { "claims" };
    let refuses = times
        .iter()
        .min()
        .map(|first| format!("it refuses the {what} of {} {}", sets_of(&sets), since(*first)));
    let on_sets = effects_on_sets(audit, webhook, refuses.is_some());
    let on_nodes = effects_on_nodes(audit, webhook).into_iter().map(str::to_owned);
    let effects = refuses.into_iter().chain(on_sets).chain(on_nodes);
    let effect = effects.collect::<Vec<_>>().join(", and ");
    if effect.is_empty() {
        return None;
    }
    let own = webhook.service.as_ref().map(|(namespace, _)| &**namespace);
    let own = own.filter(|_| webhook.calls.contains(&Call::NewPod));
    let own = own.filter(|_| webhook.objects == Default::default() && !webhook.has_conditions);
    let own = match own.filter(|namespace| selects_namespace(audit, webhook, namespace)) {
        Some(namespace) => {
            format!("; it is also called for pods in its own namespace {namespace}")
        }
        None => String::new(),
    };
    let facts = Facts::title(format!("webhook {} cannot be called", webhook.name))
        .cause(format!("{why}, and its failurePolicy is Fail"))
        .effect(format!("{effect}{own}"))
        .since(times.iter().min().copied().unwrap_or_default());
    let about = ObjectName::new(webhook.kind, "", &webhook.configuration, &webhook.uid);
    Some(StatusFinding::new(&CONFIG, facts, advice(audit, webhook, fault.as_ref())).about(about))
}

fn advice(audit: &Audit<'_>, webhook: &Webhook, fault: Option<&CallFailure<'_>>) -> Help {
    let kind = webhook.kind.as_str().to_ascii_lowercase();
    let anywhere = audit.kubectl_anywhere();
    let show = anywhere.looks(&format!("get {kind}"), &[&webhook.configuration, "-o", "yaml"]);
    match (fault, &webhook.service) {
        (Some(CallFailure::Expired(_)), _) => Help::say(
            "let what has installed the webhook renew its certificate and its caBundle; ",
        )
        .run(show)
        .and(" shows them"),
        (Some(CallFailure::NoService(..)), _) | (None, None) => Help::say(
            "install the webhook again, or if it is not meant to be there, let the administrator remove \
             its configuration; ",
        )
        .run(show)
        .and(" shows who has written it"),
        (Some(CallFailure::NoEndpoint(..)) | None, service) => {
            let namespace = service.as_ref().map_or("default", |it| &it.0);
            let pods = audit.kubectl(namespace).looks("get pods", &["-o", "wide"]);
            Help::say("make the pods of the webhook ready; ").run(pods).and(
                " shows them (with failurePolicy Ignore, pods would be created without what the \
                 webhook enforces)",
            )
        }
    }
}

static CONFIG: Path<'static> = Path::new("webhooks");
