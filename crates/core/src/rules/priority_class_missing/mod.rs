use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "priority-class-missing", group: NeverStarts;
    title: "the PriorityClass does not exist",
    summary: "a template whose PriorityClass does not exist",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::AbsentNeighbor, check }],
};

const BUILT_IN: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

fn check(query: &Query<'_>, found: &mut Findings) {
    let named = query.details.priority_class.as_deref();
    let Some(name) = named.filter(|name| !BUILT_IN.contains(name)) else { return };
    if is_missing(query, Kind::PriorityClass, name) {
        found.via(
            Kind::PriorityClass,
            &POD_SPEC.child("priorityClassName"),
            Reason::NotFound,
            format!("{} no PriorityClass {name}: no pod is created without it", query.who_has()),
            "add this PriorityClass, or name one that exists",
        );
    }
}
