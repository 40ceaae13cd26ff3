//! A ConfigMap, Secret or Service that is applied together with the pods, and that the API server refuses.

use super::neighbors::services;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "neighbor-refused",
    title: "the API server refuses what the pods need",
    summary: "a ConfigMap or Secret with a wrong value, or a Service without ports",
    group: NeverStarts,
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let (inventory, namespace) = (query.inventory(), query.item.namespace());
    let Some(details) = query.item.details() else { return };
    // Several containers often read the same object.
    let mut seen = HashSet::new();
    for it in details.configs.iter().filter(|it| seen.insert((it.kind, &*it.name))) {
        let mut all = inventory.named(it.kind, namespace, &it.name);
        let (Some(item), None) = (all.next(), all.next()) else { continue };
        let Some(refused) = item.rare().and_then(|it| it.refused.as_ref()) else { continue };
        let field = &refused.field;
        let (why, help) = match refused.is_plain {
            true => ("not in base64", "write it in base64, or as text in stringData".to_owned()),
            false => ("not a text", format!("write the value of {field} in quotes")),
        };
        let message = format!(
            "the API server refuses its {item}, because {field} is {why}, and without it the pods never start"
        );
        found.report(it.kind, it.field.clone(), Reason::NotFound, message, help);
    }
    for (item, _) in services::of_pods(query).filter(|it| it.1.lacks_ports) {
        let is_governing = details.service_name.as_deref() == Some(item.name());
        let field = if is_governing { SPEC.child("serviceName") } else { TEMPLATE_LABELS };
        let message = format!(
            "the API server refuses the {item}, because it has no ports, so nothing can connect to it"
        );
        let help = "add its ports, or set clusterIP: None";
        found.report(Kind::Service, &field, Reason::NotFound, message, help);
    }
}
