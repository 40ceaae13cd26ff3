use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "service-missing", group: Names;
    title: "the Service does not exist",
    summary: "a StatefulSet whose serviceName names a Service that does not exist",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(it) = Governed::of(query) else { return };
    let is_known = query.knows(Kind::Service, it.set.namespace());
    if query.details.uses_names && is_known && it.services.is_empty() && !it.may_be_another {
        let message = format!(
            "{} Services of namespace {}, but no {}, so the pods get no DNS names",
            query.who_has(),
            it.set.namespace(),
            it.name
        );
        let help = "add this Service with clusterIP: None, or set serviceName to one that exists";
        found.via(Kind::Service, &SPEC.child("serviceName"), Reason::NotFound, message, help);
    }
}
