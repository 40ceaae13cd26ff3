use crate::rules::prelude::*;
use crate::{
    finding::ClusterAssumption, inventory::object_summary::Service, kubernetes::managed_labels,
};

pub(super) static RULE: Rule = rule! {
    id: "service-selects-nothing", group: Names;
    title: "the Service does not select the pods",
    summary: "a StatefulSet whose Service does not select its pods",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(it) = Governed::of(query) else { return };
    let leads = |service: &Service| leads_to(service, query);
    let Some((first, service)) = it.first_unless_any(leads) else { return };
    let account = query.details.service_account.as_deref();
    let may_write_endpoints = account.is_some_and(|account| account != "default");
    if service.selector.iter().next().is_none() && may_write_endpoints {
        return;
    }
    let why = match missing(service, query) {
        Some((key, value)) => {
            format!("selects pods with {key}={value}, a label that these pods do not have")
        }
        None => "has no selector".to_owned(),
    };
    let nowhere = if service.is_headless { "" } else { "it leads to none of them, and " };
    let message = format!("its {first} {why}, so {nowhere}the pods get no DNS names");
    let help = "give the Service a selector that matches the labels of the template";
    let name = SPEC.child("serviceName");
    found
        .via(Kind::Service, &name, Reason::Invalid, message, help)
        .only_with(ClusterAssumption::TemplateLabels);
}

fn leads_to(service: &Service, query: &Query<'_>) -> bool {
    // An ExternalName Service is not headless, so service-not-headless already reports it.
    let has_any = service.selector.iter().next().is_some();
    service.is_external || (has_any && missing(service, query).is_none())
}

fn missing<'s>(service: &'s Service, query: &Query<'_>) -> Option<(&'s str, &'s str)> {
    let set = query.item;
    let has = |key: &str, value: &str| {
        if managed_labels::of(WorkloadKind::StatefulSet).contains(&key) {
            set.is_generated
                || managed_labels::is_possible(WorkloadKind::StatefulSet, set.name(), key, value)
        } else {
            query.controller.labels.get(key) == Some(value)
        }
    };
    service.selector.iter().find(|(key, value)| !has(key, value))
}
