use super::neighbors::services;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "service-local-only", group: Names;
    title: "only nodes with a pod can connect",
    summary: "a Service of a StatefulSet with internalTrafficPolicy: Local",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check }],
};

/// Kubernetes: `CategorizeEndpoints`, pkg/proxy/topology.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    if query.item.kind() != Kind::StatefulSet {
        return;
    }
    let mut services = services::of_pods(query).filter(|(_, it)| it.is_local && !it.is_headless);
    if let Some((service, _)) = services.next() {
        let message = format!(
            "its {service} has internalTrafficPolicy: Local, so on a node without one of these pods, every connection to \
             it fails"
        );
        let help = "remove internalTrafficPolicy; to prefer a pod nearby, set trafficDistribution: PreferSameNode";
        found.via(Kind::Service, &TEMPLATE_LABELS, Reason::Invalid, message, help);
    }
}
