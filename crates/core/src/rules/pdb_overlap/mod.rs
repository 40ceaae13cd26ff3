use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pdb-overlap", group: Upgrade;
    title: "two budgets select the same pods",
    summary: "pods that more than one PodDisruptionBudget selects",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    if let [one, other, ..] = &Protection::all(query)[..] {
        let (one, other) = (one.item, other.item);
        let message =
            format!("both {one} and {other} select these pods, so every eviction of them fails");
        let help = "change a selector so that each pod has one PodDisruptionBudget";
        found.via(Kind::PodDisruptionBudget, &TEMPLATE_LABELS, Reason::Invalid, message, help);
    }
}
