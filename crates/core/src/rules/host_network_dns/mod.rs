use crate::inventory::hosts::{name_in, node_dns, texts};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "host-network-dns", group: Names;
    title: "the node's DNS does not know the Service",
    summary: "hostNetwork or dnsPolicy: Default, with a name that the node's DNS does not know",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check: among },
    ],
};

fn text_of(field: &str, name: &str) -> (String, &'static str) {
    let (setting, help) = match field {
        "dnsPolicy" => ("dnsPolicy: Default", "set dnsPolicy: ClusterFirst, the default"),
        _ => ("hostNetwork", "set dnsPolicy: ClusterFirstWithHostNet"),
    };
    (format!("with {setting} the pod uses the node's DNS, which does not know {name}"), help)
}

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(field) = node_dns(spec) else { return };
    let Some((container, name)) = service_name(spec) else { return };
    let (message, help) = text_of(field, &format!("{name:?} of container {:?}", container.name));
    found.report(&POD_SPEC.child(field), Reason::Invalid, message, help);
}

fn service_name(spec: &PodSpec) -> Option<(&Container, &str)> {
    containers(spec).find_map(|container| {
        let found = texts(container).find_map(|(_, text)| name_in(text));
        found.map(|name| (container, name))
    })
}

/// A name without `svc`, or in a ConfigMap.
fn among(query: &Query<'_>, found: &mut Findings) {
    let Some(lookups) = query.details.lookups.as_deref() else { return };
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
        let (message, help) = text_of(lookups.field, &name);
        found.via(kind, &POD_SPEC.child(lookups.field), Reason::Invalid, message, help);
    }
}

fn service<'a>(query: &Query<'a>, host: &'a str) -> Option<&'a ObjectSummary> {
    let (name, namespace) = host.split_once('.').unwrap_or((host, query.item.namespace()));
    let mut services = query.inventory().named(Kind::Service, namespace, name);
    services.find(|it| query.counts(it))
}
