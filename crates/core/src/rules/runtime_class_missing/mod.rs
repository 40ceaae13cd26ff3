use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "runtime-class-missing", group: NeverStarts;
    title: "the RuntimeClass does not exist",
    summary: "a template whose RuntimeClass does not exist",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::AbsentNeighbor, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let named = query.details.runtime_class.as_deref();
    let Some(name) = named.filter(|name| is_missing(query, Kind::RuntimeClass, name)) else {
        return;
    };
    found.via(
        Kind::RuntimeClass,
        &POD_SPEC.child("runtimeClassName"),
        Reason::NotFound,
        format!("{} no RuntimeClass {name}: no pod is created without it", query.who_has()),
        "add this RuntimeClass once the nodes have its runtime, or name one that exists",
    );
}
