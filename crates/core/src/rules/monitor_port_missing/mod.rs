use super::neighbors::services;
use crate::inventory::object_summary::Service;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "monitor-port-missing", group: Names;
    title: "the monitor's port is missing or found twice",
    summary: "a monitor whose port no Service or pod has, or that reads each pod twice",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// The most monitors and Services of a namespace that are compared with a set.
const MOST: usize = 200;

/// The kinds of the controllers that own pods.
const OWNERS: [Kind; 6] = [
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::Job,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::StatefulSet,
];

/// Prometheus Operator: `generateServiceMonitorConfig` and `generatePodMonitorConfig`, pkg/prometheus/promcfg.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    of_services(query, found);
    of_pods(query, found);
}

fn of_services(query: &Query<'_>, found: &mut Findings) {
    let (inventory, namespace) = (query.inventory(), query.item.namespace());
    let own: Vec<_> = services::of_pods(query).collect();
    if own.is_empty() {
        return;
    }
    for item in inventory.in_namespace(Kind::ServiceMonitor, namespace).take(MOST) {
        let Some(monitor) = item.monitor() else { continue };
        let own = || own.iter().filter(|(_, it)| monitor.selector.matches(&it.labels));
        let Some((first, _)) = own().next() else { continue };
        let has = |port: &str| {
            let all = inventory.in_namespace(Kind::Service, namespace).take(MOST);
            let mut all = all.filter_map(ObjectSummary::service);
            all.any(|it| has_port(it, port) && monitor.selector.matches(&it.labels))
        };
        for (port, keeps_all) in &monitor.ports {
            let mut here = own().filter(|(_, it)| has_port(it, port));
            let (one, other) = (here.next(), here.next());
            if one.is_none() && !has(port) {
                let message = format!(
                    "the {item} reads port {port}, which its {first} does not have, so Prometheus reads no metrics of the pods"
                );
                let help = "write the name of a port of the Service";
                found.via(item.kind(), &TEMPLATE_LABELS, Reason::NotFound, message, help);
            } else if let (Some((one, it)), Some((other, its)), true) = (one, other, *keeps_all)
                && it.selector == its.selector
                && it.targets.iter().map(|it| &it.1).eq(its.targets.iter().map(|it| &it.1))
            {
                let message = format!(
                    "the {item} selects both {one} and {other}, so Prometheus reads each pod twice, and sums are double"
                );
                let help = "give one of the Services a label that the monitor leaves out";
                let finding =
                    found.via(item.kind(), &TEMPLATE_LABELS, Reason::Duplicate, message, help);
                finding.noted_if(true);
            }
        }
    }
}

fn has_port(service: &Service, port: &str) -> bool {
    service.names.iter().any(|it| **it == *port)
}

fn of_pods(query: &Query<'_>, found: &mut Findings) {
    let (set, inventory) = (query.item, query.inventory());
    let own = &query.controller.labels;
    let Some(traffic) = &query.details.traffic else { return };
    for item in inventory.in_namespace(Kind::PodMonitor, set.namespace()).take(MOST) {
        let Some(monitor) = item.monitor().filter(|it| it.selector.matches(own)) else { continue };
        // It may be about a port of other pods.
        let is_other = |it: &ObjectSummary| {
            let labels = it.controller().map(|it| &it.labels);
            !it.is_same(set) && labels.is_some_and(|it| monitor.selector.matches(it))
        };
        let all = OWNERS.iter().flat_map(|kind| inventory.in_namespace(*kind, set.namespace()));
        if all.take(MOST + 1).enumerate().any(|(i, it)| i == MOST || is_other(it)) {
            continue;
        }
        for (port, _) in &monitor.ports {
            if !traffic.ports.iter().any(|(name, _)| name == port) {
                let message = format!(
                    "the {item} reads port {port}, and no container has a port with this name, so Prometheus reads no metrics \
                     of the pods"
                );
                let help = "write the name of a port; a number belongs into portNumber";
                found.via(item.kind(), &TEMPLATE_LABELS, Reason::NotFound, message, help);
            }
        }
    }
}
