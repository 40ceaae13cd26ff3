use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "service-link-misread", group: NeverStarts;
    title: "a Service sets a variable of the program",
    summary: "an image that reads the variable of a Service as a setting of its own",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

/// Kubernetes: `FromServices`, pkg/kubelet/envvars/envvars.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    for (field, variable) in &query.details.misread {
        let name = variable.trim_end_matches("_PORT").to_ascii_lowercase().replace('_', "-");
        let mut services = query.inventory().named(Kind::Service, query.item.namespace(), &name);
        // A headless Service sets none.
        let sets = services.find(|item| {
            query.counts(item) && item.service().is_some_and(|service| service.variables > 0)
        });
        let Some(service) = sets else { continue };
        let message = format!(
            "its {service} sets {variable}=tcp://… in each container, and this image does not start with it"
        );
        let help = "set enableServiceLinks: false; the pods then find Services by DNS";
        found.via(Kind::Service, field.clone(), Reason::Invalid, message, help);
    }
}
