use super::neighbors::services;
use crate::rules::prelude::*;
use crate::{
    finding::paths::CONTAINERS,
    inventory::{
        configs::is_filled_in,
        labels::Selector,
        object_summary::{NamedPort, Service},
    },
};

pub(super) static RULE: Rule = rule! {
    id: "service-port-missing", group: Names;
    title: "the pods or their Service lack a port",
    summary: "a Service with a targetPort that no container has, or that no webhook finds",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// Kubernetes: `FindPort` and `getEndpointPorts`, endpointslice utils.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let inventory = query.inventory();
    let (namespace, details) = (query.item.namespace(), query.details);
    // The names of a headless Service lead to the pods themselves.
    for (item, service) in services::of_pods(query).filter(|it| !it.1.is_headless) {
        webhook(query, item, service, found);
        let selector = Selector::Labels(service.selector.clone());
        let named = service.targets.iter().map(|it| &it.1);
        let named = named.filter(|it| it.name.parse::<u16>().is_err() && !is_filled_in(&it.name));
        for port in named {
            // setguard does not know the ports of other controllers.
            let has = |it: &ObjectSummary| it.details().is_none_or(|it| it.ports.contains(port));
            if details.ports.contains(port) || inventory.selected_by(namespace, &selector).any(has)
            {
                continue;
            }
            let NamedPort { name, protocol } = port;
            let own = details.ports.iter().filter(|it| it.protocol == *protocol);
            // No container has two ports of one name.
            let other = details.ports.iter().find(|it| it.name == *name);
            let help = match (other, nearest_of(name, own.map(|it| &*it.name))) {
                (Some(NamedPort { protocol: other, .. }), _) => format!(
                    "write the number of the {protocol} port in targetPort, because {name} names a {other} port, or \
                     remove the port from the Service"
                ),
                (None, Some(near)) => {
                    format!("write {near} in targetPort, or name the port {name} in a container")
                }
                (None, None) => format!(
                    "name a {protocol} port {name} in a container, write its number in targetPort, or remove the port \
                     from the Service"
                ),
            };
            let message = format!(
                "its {item} connects to a {protocol} port named {name}, and no container has one, so nothing answers \
                 there"
            );
            found.via(Kind::Service, &CONTAINERS, Reason::NotFound, message, help);
        }
    }
}

/// Kubernetes: `ResolveEndpoint`, apiserver pkg/util/proxy/proxy.go.
fn webhook(query: &Query<'_>, item: &ObjectSummary, service: &Service, found: &mut Findings) {
    let inventory = query.inventory();
    // Of two Services with the name, one may be meant.
    if inventory.named(Kind::Service, item.namespace(), item.name()).count() > 1 {
        return;
    }
    let is_only = inventory.named_anywhere(Kind::Service, item.name()).count() == 1;
    // A placeholder counts as 0.
    let has = |port: i64| service.targets.iter().any(|it| it.0 == port || it.0 == 0);
    let lacks = |(caller, port): (_, i64)| {
        let own = service.targets.first().filter(|_| !has(port))?.0;
        let help =
            format!("add port {port} to the Service, or write {own} in clientConfig.service.port");
        Some((caller, format!("has no port {port}, and {{}} calls it there"), help))
    };
    let elsewhere = |(caller, named): (_, &str)| {
        let is_certain = is_only && item.sets_namespace && !is_filled_in(named);
        let own = Some(item.namespace()).filter(|_| is_certain)?;
        let what = format!("is in namespace {own}, and {{}} calls it in {named}");
        Some((caller, what, format!("write {own} in clientConfig.service.namespace")))
    };
    let fault = inventory.callers(item).find_map(lacks);
    let fault = fault.or_else(|| inventory.callers_elsewhere(item).find_map(elsewhere));
    let Some((caller, what, help)) = fault else { return };
    let (name, so) = match caller.kind() {
        Kind::Pod => (
            format!("CustomResourceDefinition {}", caller.name()),
            "cannot convert its objects to another version",
        ),
        _ => (caller.to_string(), "refuses each write that it is called for"),
    };
    let what = what.replace("{}", &name);
    let message = format!("its {item} {what}, so the API server {so}");
    found.via(caller.kind(), &TEMPLATE_LABELS, Reason::NotFound, message, help);
}
