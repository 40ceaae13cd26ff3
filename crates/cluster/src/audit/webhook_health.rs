//! Checks whether the API server calls setguard through its webhook configurations, and evaluates its policies.
//!
//! A configuration belongs to setguard if the name of one of its webhooks ends in `.setguard.io`, and a policy if its
//! own name does.

use k8s_openapi::api::{
    admissionregistration::v1::{MutatingWebhook as Webhook, ServiceReference},
    discovery::v1::EndpointSlice,
};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use setguard_core::{object::annotations::SIBLING_ANNOTATION, observed::Endpoints};
use x509_parser::{certificate::X509Certificate, prelude::FromDer as _};

use crate::live::{
    collections::{ENDPOINTS, WEBHOOKS},
    registered::{as_written, compare},
};
use crate::prelude::*;

#[derive(Debug, Default)]
pub(super) struct WebhookHealth {
    pub(super) problems: Vec<String>,
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Configuration {
    /// A validating webhook has no fields of its own.
    #[serde(default)]
    webhooks: Vec<Webhook>,
}

pub(super) async fn look(reader: &Reader, now: Timestamp) -> WebhookHealth {
    let mut guard = WebhookHealth::default();
    let servers = servers(reader).await;
    let mut services = BTreeMap::<(String, String), BTreeSet<String>>::new();
    // For each configuration, the kind of the one that was installed with it, and that kind with the name.
    let (mut installed, mut existing, mut hidden) = (Vec::new(), BTreeSet::new(), Vec::new());
    for collection in &WEBHOOKS {
        let kind = collection.kind.as_str();
        let read: Vec<Value> = match reader.objects(&collection.list(None)).await {
            Ok(read) => read,
            // The API server has no webhooks, or has already failed to answer.
            Err(Problem::Absent(_) | Problem::Unreachable(_)) => continue,
            Err(why) => {
                let note = format!(
                    "setguard can't read {}, so it can't say whether its webhooks apply, or whether others can be called: {why}",
                    collection.name()
                );
                guard.notes.push(note);
                hidden.push(kind);
                continue;
            }
        };
        for read in &read {
            let Ok(configuration) = Configuration::deserialize(read) else { continue };
            if !configuration.webhooks.iter().any(|it| it.name.ends_with(".setguard.io")) {
                continue;
            }
            let metadata = &read["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            let of = format!("{kind} {name}");
            existing.insert(of.clone());
            let sibling = metadata["annotations"][SIBLING_ANNOTATION].as_str();
            installed.extend(sibling.map(|kind| (kind.to_owned(), format!("{kind} {name}"))));
            guard.problems.extend(faults(&of, &configuration.webhooks, now));
            guard.problems.extend(foreign(kind, name, read, &annotations(&servers, name)));
            for service in configuration.webhooks.iter().filter_map(service) {
                let key = (service.namespace.clone(), service.name.clone());
                services.entry(key).or_default().insert(of.clone());
            }
        }
    }
    let is_absent =
        |(kind, of): &&(String, String)| !hidden.contains(&kind.as_str()) && !existing.contains(of);
    guard.problems.extend(installed.iter().filter(is_absent).map(|(_, of)| absent(of)));
    if hidden.is_empty() {
        guard.problems.extend(uncalled(&servers, &existing));
    }
    for ((namespace, name), of) in services {
        let of = of.into_iter().collect::<Vec<_>>().join(" and ");
        let is_ready = |slice: &EndpointSlice| {
            Endpoints::of(slice).is_some_and(|((_, of), it)| *of == *name && it.is_ready)
        };
        match reader.objects::<EndpointSlice>(&ENDPOINTS.list(Some(&namespace))).await {
            Ok(slices) if !slices.iter().any(is_ready) => {
                guard.problems.push(format!(
                    "Service {namespace}/{name} has no ready endpoint, so each call of the API server \
                     by {of} fails: is a pod of setguard ready, and does the Service exist?"
                ));
            }
            Ok(_) | Err(Problem::Unreachable(_)) => {}
            Err(why) => guard.notes.push(format!(
                "endpointslices in namespace {namespace} cannot be read, so whether the API server can \
                 call setguard is not known: {why}"
            )),
        }
    }
    for (policy, binding) in POLICIES {
        match unbound(reader, policy, binding).await {
            Ok(unbound) => guard.problems.extend(unbound),
            Err(Problem::Absent(_) | Problem::Unreachable(_)) => {}
            Err(why) => guard.notes.push(format!(
                "{policy} cannot be read, or not their bindings, so whether the API server evaluates setguard's is \
                 not known: {why}"
            )),
        }
    }
    guard
}

fn absent(of: &str) -> String {
    format!(
        "{of} does not exist, although it was installed together with the other one: setguard is not called by \
         it; helm upgrade creates it again"
    )
}

/// Describes how a configuration differs from the one that the chart wrote.
fn foreign(kind: &str, name: &str, read: &Value, annotations: &[String]) -> Option<String> {
    // `serve | kubectl apply` writes neither the label nor the annotation.
    let is_of_chart = read["metadata"]["labels"]["app.kubernetes.io/part-of"] == "setguard";
    if as_written(read).is_none() && !is_of_chart {
        return None;
    }
    let compared = match compare(read, annotations) {
        Ok(compared) => compared,
        Err(why) => return Some(format!("{kind} {name}: {why}")),
    };
    let said = compared.say(kind, name);
    let is_other = |(i, _): &&(usize, Value)| {
        read["webhooks"][*i]["rules"].as_array().is_some_and(|rules| !rules.is_empty())
    };
    said.or_else(|| {
        compared.rules.iter().find(is_other).map(|(i, _)| {
            let webhook = read["webhooks"][*i]["name"].as_str().unwrap_or_default();
            format!("{kind} {name} has other rules for {webhook} than the chart wrote")
        })
    })
}

/// The labels that the chart sets on the server's Deployment. Its name is also the name of the configurations.
const SERVER: &str = "app.kubernetes.io/component=webhook,app.kubernetes.io/part-of=setguard";

/// Returns nothing if Deployments cannot be read; the audit reports that anyway.
async fn servers(reader: &Reader) -> Vec<Value> {
    let list = Collection::of(Kind::Deployment).list(None);
    let list = List { labels: Some(SERVER.into()), ..list };
    let mut servers: Vec<Value> = reader.objects(&list).await.unwrap_or_default();
    servers.retain(|it| {
        let mut labels = SERVER.split(',').filter_map(|it| it.split_once('='));
        labels.all(|(key, value)| it["metadata"]["labels"][key] == value)
    });
    servers
}

/// Returns the SHA-256 of the annotations that the chart wrote, from the arguments of the server with this name.
fn annotations(servers: &[Value], name: &str) -> Vec<String> {
    let servers = servers.iter().filter(|it| it["metadata"]["name"] == name);
    let containers = servers.map(|it| &it["spec"]["template"]["spec"]["containers"]);
    let containers = containers.filter_map(Value::as_array).flatten();
    let args = containers.filter_map(|it| it["args"].as_array()).flatten();
    let lists = args.filter_map(|it| it.as_str()?.strip_prefix("--arm-annotations="));
    lists.flat_map(|it| it.split(',')).map(str::to_owned).collect()
}

/// Reports servers that have no webhook configuration.
fn uncalled(servers: &[Value], existing: &BTreeSet<String>) -> Vec<String> {
    let uncalled = servers.iter().filter_map(|it| {
        let metadata = &it["metadata"];
        let (namespace, name) = (metadata["namespace"].as_str()?, metadata["name"].as_str()?);
        let is_called = WEBHOOKS.iter().any(|it| existing.contains(&format!("{} {name}", it.kind)));
        (!is_called).then(|| {
            format!(
                "Deployment {namespace}/{name} serves setguard, and neither {} nor {} {name} exists: it is not \
                 called; helm upgrade creates them again",
                WEBHOOKS[0].kind, WEBHOOKS[1].kind
            )
        })
    });
    uncalled.collect()
}

/// The most policies without a binding to name.
const NAMED: usize = 3;

const POLICIES: [(&str, &str); 2] = [
    ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
];

/// Describes the policies of setguard that have no binding.
async fn unbound(reader: &Reader, policy: &str, binding: &str) -> Result<Option<String>, Problem> {
    let list = |resource: &str, is_bare| List {
        path: format!("/apis/admissionregistration.k8s.io/v1/{resource}"),
        is_bare,
        labels: None,
        fields: None,
    };
    let policies: Vec<Value> = reader.objects(&list(policy, true)).await?;
    let names = policies.iter().filter_map(|it| it["metadata"]["name"].as_str());
    let mut unbound: Vec<_> = names.filter(|it| it.ends_with(".setguard.io")).collect();
    if unbound.is_empty() {
        return Ok(None);
    }
    let bindings: Vec<Value> = reader.objects(&list(binding, false)).await?;
    unbound.retain(|name| !bindings.iter().any(|it| it["spec"]["policyName"] == *name));
    if unbound.is_empty() {
        return Ok(None);
    }
    let more = unbound.len().saturating_sub(NAMED);
    unbound.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(Some(format!(
        "{policy} have no binding, so the API server does not evaluate them: {}{more}; helm upgrade, or kubectl \
         apply of the export, creates the {binding} again",
        unbound.join(", ")
    )))
}

fn faults(of: &str, webhooks: &[Webhook], now: Timestamp) -> Vec<String> {
    let mut faults = Vec::new();
    let names = |is_faulty: &dyn Fn(&Webhook) -> bool| {
        let faulty = webhooks.iter().filter(|webhook| is_faulty(webhook));
        faulty.map(|webhook| webhook.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let without_rules = names(&|webhook| webhook.rules.as_ref().is_none_or(Vec::is_empty));
    if !without_rules.is_empty() {
        faults.push(format!(
            "{of} has no rules for {without_rules}: the API server does not call setguard by it, and \
             nothing that it is for is checked. The log of setguard says why"
        ));
    }
    let has_expired = |webhook: &Webhook| {
        let bundle = webhook.client_config.ca_bundle.as_ref();
        bundle.and_then(|it| expired(&it.0)).is_some_and(|at| at < now.as_second())
    };
    let expired = names(&has_expired);
    if !expired.is_empty() {
        faults.push(format!(
            "the CA in {of} has expired, so each call of the API server fails: {expired}"
        ));
    }
    let without_ca = |webhook: &Webhook| {
        let bundle = &webhook.client_config.ca_bundle;
        service(webhook).is_some() && bundle.as_ref().is_none_or(|bundle| bundle.0.is_empty())
    };
    let without_ca = names(&without_ca);
    if !without_ca.is_empty() {
        faults.push(format!(
            "{of} has no caBundle, so each call of the API server fails: {without_ca}"
        ));
    }
    faults
}

fn service(webhook: &Webhook) -> Option<&ServiceReference> {
    webhook.client_config.service.as_ref()
}

/// Returns when the last certificate of a bundle expires, in seconds since 1970. Returns `None` if the bundle is empty
/// or has an invalid certificate.
pub(super) fn expired(bundle: &[u8]) -> Option<i64> {
    let certificates = CertificateDer::pem_slice_iter(bundle).map_while(Result::ok);
    let ends = certificates.map(|der| {
        let (_, certificate) = X509Certificate::from_der(&der).ok()?;
        Some(certificate.validity().not_after.timestamp())
    });
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}
