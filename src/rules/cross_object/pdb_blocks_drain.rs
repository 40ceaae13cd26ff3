//! A StatefulSet whose PodDisruptionBudget never allows an eviction.

use super::{
    budgets::Protection,
    rule::{Asked, Evidence, Found, Rule},
};
use crate::{
    finding::{Reason, paths::SPEC},
    inventory::{item::Budget, kind::Kind},
    rules::drains,
};

pub(super) static RULE: Rule =
    Rule { meta: drains::META, kinds: &["StatefulSet"], evidence: Evidence::Presence, check };

fn check(asked: &Asked<'_>, found: &mut Found) {
    let Some(judged) = asked.item.details().filter(|_| asked.item.kind() == Kind::StatefulSet)
    else {
        return;
    };
    let replicas = i64::from(judged.replicas);
    if replicas < 1 {
        return;
    }
    let all = Protection::all(asked).into_iter();
    let mut all = all.filter(|Protection { budget, .. }| !budget.is_owned);
    let first = all.find_map(|Protection { item, budget }| {
        Some((item, blocks(budget, replicas, || selects_others(asked, budget))?))
    });
    if let Some((item, wanted)) = first {
        found.report(
            Kind::PodDisruptionBudget,
            &SPEC.child("replicas"),
            Reason::Invalid,
            format!(
                "its {item} has {wanted}, and there are {replicas} replicas: it allows no eviction, so \
                 a drain of their nodes never ends"
            ),
            "let it spare a pod: lower minAvailable, or set maxUnavailable to at least 1",
        );
    }
}

/// What a PodDisruptionBudget says, if it wants all of this number of pods.
fn blocks(budget: &Budget, replicas: i64, shared: impl Fn() -> bool) -> Option<String> {
    let wanted =
        drains::wanted(budget.min_available.as_ref(), budget.max_unavailable.as_ref(), replicas)?;
    (budget.max_unavailable.is_some() || !shared()).then_some(wanted)
}

/// Whether it is known to select the pods of another controller too, which then may be spared.
fn selects_others(asked: &Asked<'_>, budget: &Budget) -> bool {
    let Some(selector) = &budget.selector else { return false };
    let mut selected = asked.inventory().selected_by(asked.item.namespace(), selector);
    selected.any(|other| asked.counts(other) && !asked.item.is_same(other))
}
