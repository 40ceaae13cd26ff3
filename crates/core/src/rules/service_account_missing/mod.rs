use super::neighbors::missing::only_elsewhere;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "service-account-missing", group: NeverStarts;
    title: "the ServiceAccount does not exist",
    summary: "a template whose ServiceAccount does not exist",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::AbsentNeighbor, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let named = query.details.service_account.as_deref();
    let Some(name) = named.filter(|name| *name != "default") else { return };
    let is_removed = query.removes(Kind::ServiceAccount, name);
    let elsewhere = only_elsewhere(query, Kind::ServiceAccount, name);
    if is_removed || elsewhere.is_some() || is_missing(query, Kind::ServiceAccount, name) {
        let namespace = query.item.namespace();
        let message = if is_removed {
            format!("the change removes ServiceAccount {name}: no pod is created without it")
        } else if let Some(other) = elsewhere {
            format!(
                "its {other} is in namespace {}: no pod is created in {namespace} without one there",
                other.namespace()
            )
        } else {
            format!(
                "{} ServiceAccounts of namespace {namespace}, but no {name}: no pod is created without it",
                query.who_has()
            )
        };
        found.via(
            Kind::ServiceAccount,
            &POD_SPEC.child("serviceAccountName"),
            Reason::NotFound,
            message,
            "add this ServiceAccount, or name one that exists",
        );
    }
}
