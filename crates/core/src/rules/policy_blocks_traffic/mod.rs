use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};

use super::neighbors::services;
use crate::inventory::{
    labels::{Labels, Selector},
    traffic::{Traffic, TrafficPolicy, TrafficRule},
};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "policy-blocks-traffic", group: Names;
    title: "the NetworkPolicy blocks what the pods need",
    summary: "a NetworkPolicy that blocks DNS, the other pods of the set, or its Service",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// The most policies that are compared with a set.
const MOST: usize = 1_000;

/// The policies about one direction, and the traffic that they allow together.
struct Restricted<'a> {
    first: &'a ObjectSummary,
    rules: Vec<&'a TrafficRule>,
}

/// Kubernetes: `NetworkPolicySpec`, k8s.io/api/networking/v1/types.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let (set, inventory) = (query.item, query.inventory());
    let Some(traffic) = query.details.traffic.as_ref().filter(|it| !it.is_of_node) else { return };
    // Policies of other groups may allow more.
    let is_known = query.knows(Kind::NetworkPolicy, set.namespace())
        && inventory.all(Kind::NetworkPolicy).all(|it| it.traffic().is_some());
    if !is_known {
        return;
    }
    let labels = &query.controller.labels;
    let all = inventory.in_namespace(Kind::NetworkPolicy, set.namespace()).take(MOST);
    let all = all.filter_map(|item| Some((item, item.traffic()?)));
    let all: Vec<_> = all.filter(|it| selects(&it.1.pod_selector, labels)).collect();
    let peers = query.details.service_name.as_deref().filter(|_| query.details.uses_names);
    let mut report = |field: &Path<'_>, message: String, help: String| {
        found.via(Kind::NetworkPolicy, field, Reason::Forbidden, message, help);
    };
    let mut has_dns = true;
    if let Some(Restricted { first, rules }) = Restricted::of(&all, "Egress") {
        let is_dns = |name: &str| name.contains("dns");
        has_dns = rules.iter().any(|it| [53, 5353].iter().any(|port| allows(it, *port, &is_dns)));
        let is_service = |host: &str| {
            let (name, namespace) = host.split_once('.').unwrap_or((host, set.namespace()));
            inventory.named(Kind::Service, namespace, name).next().is_some()
        };
        let mut hosts = traffic.hosts.iter().map(|it| &**it);
        let host = hosts.find(|it| it.contains(".svc") || is_service(it)).or(peers);
        if let Some(host) = host.filter(|_| !has_dns) {
            let message = format!(
                "the {first} restricts what the pods send, and nothing allows port 53, so they cannot look up {host}"
            );
            let help = "allow port 53 of UDP and TCP in egress".to_owned();
            report(&TEMPLATE_LABELS, message, help);
        }
    }
    for (direction, what) in
        [("Ingress", "who may connect to the pods"), ("Egress", "what the pods send")]
    {
        let Some(Restricted { first, rules }) = Restricted::of(&all, direction) else { continue };
        let are_allowed = rules.iter().any(|it| allows_own(list(&it.from), labels));
        if let Some(name) = peers.filter(|_| !are_allowed && (has_dns || direction == "Ingress")) {
            let message = format!(
                "the {first} restricts {what}, and nothing allows the pods of the set, so they cannot reach each other by \
                 the names of {name}"
            );
            let help = format!(
                "allow a podSelector with the labels of the pods in {}",
                direction.to_lowercase()
            );
            report(&TEMPLATE_LABELS, message, help);
        }
        if direction == "Ingress" {
            ports(query, traffic, &Restricted { first, rules }, &mut report);
        }
    }
}

/// Reports the port of a Service where a policy needs the port of the pods.
fn ports(
    query: &Query<'_>,
    traffic: &Traffic,
    restricted: &Restricted<'_>,
    report: &mut dyn FnMut(&Path<'_>, String, String),
) {
    let Restricted { first, rules } = restricted;
    let named = rules.iter().flat_map(|it| list(&it.ports)).filter_map(|it| match &it.port {
        Some(IntOrString::String(name)) => Some(name),
        _ => None,
    });
    for name in named {
        let has_name = |it: &Traffic| it.ports.iter().any(|(own, _)| **own == **name);
        // A policy can select other pods too.
        let is_there = |it: &ObjectSummary| {
            it.details().and_then(|it| it.traffic.as_ref()).is_none_or(|it| has_name(it))
        };
        let (inventory, namespace) = (query.inventory(), query.item.namespace());
        let mut all =
            SETS.iter().flat_map(|kind| inventory.in_namespace(*kind, namespace)).take(MOST);
        let has_more = query.has_other_pods() || inventory.has_any(Kind::Pod, namespace);
        if !has_more && !all.any(is_there) {
            let message = format!(
                "the {first} allows port {name}, and no container has a port with this name, so this allows nothing"
            );
            report(
                &TEMPLATE_LABELS,
                message,
                "write the name or the number of a port of a container".to_owned(),
            );
        }
    }
    let has = |number: i64| traffic.ports.iter().any(|it| i64::from(it.1) == number);
    let is_written = |number: i64| {
        let is = |it: &NetworkPolicyPort| matches!(&it.port, Some(IntOrString::Int(own)) if i64::from(*own) == number);
        rules.iter().any(|it| list(&it.ports).iter().any(is))
    };
    for (service, it) in services::of_pods(query).filter(|it| !it.1.is_headless) {
        for (port, target) in &it.targets {
            let Some(number) = traffic.number(target).filter(|it| has((*it).into())) else {
                continue;
            };
            let is_name =
                |name: &str| traffic.ports.iter().any(|it| it.1 == number && *it.0 == *name);
            if is_written(*port)
                && !has(*port)
                && !rules.iter().any(|it| allows(it, number, &is_name))
            {
                let message = format!(
                    "the {first} restricts who may connect to the pods, and allows port {port}, which is the port of \
                     the {service}: a policy needs the port of the pods, {number}"
                );
                report(&TEMPLATE_LABELS, message, format!("write {number} in the policy"));
            }
        }
    }
}

impl<'a> Restricted<'a> {
    fn of(all: &[(&'a ObjectSummary, &'a TrafficPolicy)], direction: &str) -> Option<Self> {
        let mut all = all.iter().filter_map(|it| Some((it.0, it.1.allowed(direction)?))).peekable();
        let first = all.peek()?.0;
        Some(Restricted { first, rules: all.flat_map(|it| it.1).collect() })
    }
}

fn selects(selector: &LabelSelector, labels: &Labels) -> bool {
    Selector::of_any(selector).is_some_and(|it| it.matches(labels))
}

fn allows(rule: &TrafficRule, port: i32, is_name: &dyn Fn(&str) -> bool) -> bool {
    let ports = list(&rule.ports);
    ports.is_empty()
        || ports.iter().any(|it| match &it.port {
            None => true,
            Some(IntOrString::Int(first)) => {
                (*first..=it.end_port.unwrap_or(*first)).contains(&port)
            }
            Some(IntOrString::String(name)) => is_name(name),
        })
}

/// An address may belong to the pods, and a namespace may be the same one.
fn allows_own(peers: &[NetworkPolicyPeer], labels: &Labels) -> bool {
    peers.is_empty()
        || peers.iter().any(|it| {
            it.ip_block.is_some() || it.pod_selector.as_ref().is_none_or(|it| selects(it, labels))
        })
}
