use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "service-not-headless", group: Names;
    title: "the Service is not headless",
    summary: "a StatefulSet whose Service is not headless",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(it) = Governed::of(query) else { return };
    if query.details.replicas < 2 {
        return;
    }
    if let Some((first, _)) = it.first_unless_any(|service| service.is_headless) {
        let message = format!("its {first} is not headless, so the pods may get no DNS names");
        let help =
            "set serviceName to a Service with clusterIP: None; neither can be changed later";
        found.via(Kind::Service, &SPEC.child("serviceName"), Reason::Invalid, message, help);
    }
}
