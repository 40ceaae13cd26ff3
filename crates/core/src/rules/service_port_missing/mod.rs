use super::neighbors::services;
use crate::rules::prelude::*;
use crate::{finding::paths::CONTAINERS, inventory::labels::Selector};

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
    let (namespace, Some(details)) = (set.namespace(), set.details()) else { return };
    // The names of a headless Service lead to the pods themselves.
    for (item, service) in services::of_pods(query).filter(|it| !it.1.is_headless) {
        let selector = Selector::Labels(service.selector.clone());
        let named = service.targets.iter().map(|it| &it.1);
        for port in named.filter(|it| it.name.parse::<u16>().is_err()) {
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
