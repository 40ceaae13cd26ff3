use crate::inventory::hosts::{name_in, texts, uses_node_dns};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "host-network-dns",
    title: "hostNetwork cannot resolve the name of a Service",
    summary: "hostNetwork with the name of a Service that the node's DNS does not know",
    group: Names,
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check: among },
    ],
};

const HELP: &str = "set dnsPolicy: ClusterFirstWithHostNet";

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if !uses_node_dns(spec) {
        return;
    }
    let Some((container, name)) = service_name(spec) else { return };
    found.report(
        &POD_SPEC.child("hostNetwork"),
        Reason::Invalid,
        format!(
            "with hostNetwork the pod uses the node's DNS, which does not know {name:?} of container {:?}",
            container.name
        ),
        HELP,
    );
}

fn service_name(spec: &PodSpec) -> Option<(&Container, &str)> {
    containers(spec).find_map(|container| {
        let found = texts(container).find_map(|(_, text)| name_in(text));
        found.map(|name| (container, name))
    })
}

/// A name without `svc`, or in a ConfigMap.
fn among(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(lookups) = query.item.details().and_then(|it| it.lookups.as_deref()) else { return };
    let (inventory, own) = (query.inventory(), query.item.namespace());
    let written = lookups.hosts.iter().filter_map(|host| {
        let service = service(query, host)?;
        Some((Kind::Service, format!("{host:?}, the name of {service}")))
    });
    let configs = lookups.configs.iter().flat_map(|(name, key)| {
        let objects = inventory.named(Kind::ConfigMap, own, name);
        objects.flat_map(move |it| it.hosts().iter().map(move |(own, host)| (it, key, own, host)))
    });
    let in_configs = configs.filter_map(|(object, key, own, host)| {
        let is_read = key.as_ref().is_none_or(|key| key == own);
        let is_name = is_read && (name_in(host).is_some() || service(query, host).is_some());
        is_name.then(|| (Kind::ConfigMap, format!("{host:?} in {own} of {object}")))
    });
    if let Some((kind, name)) = written.chain(in_configs).next() {
        let message =
            format!("with hostNetwork the pod uses the node's DNS, which does not know {name}");
        let path = POD_SPEC.child("hostNetwork");
        found.report(kind, &path, Reason::Invalid, message, HELP);
    }
}

fn service<'a>(query: &Query<'a>, host: &'a str) -> Option<&'a ObjectSummary> {
    let (name, namespace) = host.split_once('.').unwrap_or((host, query.item.namespace()));
    let mut services = query.inventory().named(Kind::Service, namespace, name);
    services.find(|it| query.counts(it))
}
