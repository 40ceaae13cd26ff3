//! A pod in its node's network that looks up a Service by a name that it cannot resolve.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::read;
use crate::{
    finding::{Findings, Mode, Reason, paths::POD_SPEC},
    inventory::hosts::{name_in, texts, uses_node_dns},
    kubernetes::{cluster::Cluster, containers::containers, kind::Kind},
    object::Subject,
    rules::rule::{
        ObjectCheck, OpenKruise, Rule, SETS, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = rule! {
    id: "host-network-dns",
    title: "hostNetwork cannot resolve the name of a Service",
    summary: "hostNetwork with the name of a Service that the node's DNS does not know",
    group: Names,
    mode: Mode::Warn,
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check: among },
    ],
};

const HELP: &str = "set dnsPolicy: ClusterFirstWithHostNet";

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
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
    let hosts = query.item.details().into_iter().flat_map(|it| &it.hosts);
    let named = hosts.filter_map(|host| {
        let (name, namespace) = host.split_once('.').unwrap_or((host, query.item.namespace()));
        let mut services = query.inventory().named(Kind::Service, namespace, name);
        Some((host, services.find(|it| query.counts(it))?))
    });
    if let Some((host, service)) = named.into_iter().next() {
        let message = format!(
            "with hostNetwork the pod uses the node's DNS, which does not know {host:?}, the name of {service}"
        );
        let path = POD_SPEC.child("hostNetwork");
        found.report(Kind::Service, &path, Reason::Invalid, message, HELP);
    }
}
