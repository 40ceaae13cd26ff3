use crate::rules::prelude::*;
use crate::{
    finding::paths::CONTAINERS,
    inventory::{Selecting, labels::Selector},
};

pub(super) static RULE: Rule = rule! {
    id: "service-port-missing",
    title: "no container has the port of the Service",
    summary: "a Service whose targetPort is a name that no container of its pods has",
    group: Names,
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// Kubernetes: `FindPort` and `getEndpointPorts`, endpointslice utils.go.
fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let (set, inventory) = (query.item, query.inventory());
    let (Some(controller), Some(details)) = (set.controller(), set.details()) else { return };
    let namespace = set.namespace();
    for item in inventory.selecting(Selecting::Services, namespace, &controller.labels) {
        let Some(service) = item.service().filter(|_| item.namespace() == namespace) else {
            continue;
        };
        let selector = Selector::Labels(service.selector.clone());
        // The names of a headless Service lead to the pods themselves.
        if service.is_headless || service.is_external || !selector.matches(&controller.labels) {
            continue;
        }
        for port in &service.targets {
            // The ports of other controllers than sets are not known.
            let has = |it: &ObjectSummary| it.details().is_none_or(|it| it.ports.contains(port));
            if details.ports.contains(port) || inventory.selected_by(namespace, &selector).any(has)
            {
                continue;
            }
            let mut own = details.ports.iter().map(|it| &*it.name);
            let help = match nearest_of(&port.name, own.clone()).or_else(|| own.next()) {
                Some(name) => format!(
                    "write {name} in targetPort, or name the port {} in a container",
                    port.name
                ),
                None => format!(
                    "name a port {} in a container, or write its number in targetPort",
                    port.name
                ),
            };
            let message = format!(
                "its {item} connects to a {} port named {}, and no container has one, so nothing answers there",
                port.protocol, port.name
            );
            found.report(Kind::Service, &CONTAINERS, Reason::NotFound, message, help);
        }
    }
}
