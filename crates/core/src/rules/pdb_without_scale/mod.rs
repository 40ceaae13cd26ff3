//! A DaemonSet whose PodDisruptionBudget needs a scale subresource. DaemonSets have none.

use crate::inventory::object_summary::DisruptionBudget;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pdb-without-scale", group: Upgrade;
    title: "the budget cannot count these pods",
    summary: "a DaemonSet with a PodDisruptionBudget that cannot count its pods",
    scopes: [Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    if query.item.kind() != Kind::DaemonSet {
        return;
    }
    let mut all = Protection::all(query).into_iter();
    let first = all.find_map(|Protection { item, budget }| Some((item, needs_scale(budget)?)));
    if let Some((item, field)) = first {
        let message = format!(
            "its {item} has {field}, which needs the scale of the pods' \
             controller; a DaemonSet has none, so it allows no eviction at all"
        );
        let help = "set minAvailable to a number there, or do without it";
        found.via(Kind::PodDisruptionBudget, &TEMPLATE_LABELS, Reason::Invalid, message, help);
    }
}

fn needs_scale(budget: &DisruptionBudget) -> Option<&'static str> {
    if budget.max_unavailable.is_some() {
        return Some("maxUnavailable");
    }
    let percent = budget.min_available.as_ref().and_then(int_or_percent::percentage);
    percent.map(|_| "a percentage in minAvailable")
}
