//! A StatefulSet whose PodDisruptionBudget never allows an eviction.

use crate::rules::prelude::*;
use crate::{inventory::object_summary::DisruptionBudget, rules::neighbors::budgets};

pub(super) const SCOPE: Scope =
    Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check };

fn check(query: &Query<'_>, found: &mut Findings) {
    // A DaemonSet has none.
    let replicas = i64::from(query.details.replicas);
    if replicas < 1 {
        return;
    }
    let all = Protection::all(query).into_iter();
    let mut all = all.filter(|Protection { budget, .. }| !budget.is_owned);
    let first = all.find_map(|Protection { item, budget }| {
        let (least, most) = (budget.min_available.as_ref(), budget.max_unavailable.as_ref());
        let wanted = budgets::wanted(least, most, replicas)?;
        (most.is_some() || !selects_others(query, budget)).then_some((item, wanted))
    });
    if let Some((item, wanted)) = first {
        found.via(
            Kind::PodDisruptionBudget,
            &SPEC.child("replicas"),
            Reason::Invalid,
            match replicas {
                1 => format!(
                    "its {item} has {wanted}, and there is 1 replica: it allows no eviction, so a \
                     drain of its node never ends"
                ),
                _ => format!(
                    "its {item} has {wanted}, and there are {replicas} replicas: it allows no \
                     eviction, so a drain of their nodes never ends"
                ),
            },
            "let it spare a pod: lower minAvailable, or set maxUnavailable to at least 1",
        );
    }
}

/// The budget certainly selects pods of a different controller too. It may spare that controller's pods instead.
fn selects_others(query: &Query<'_>, budget: &DisruptionBudget) -> bool {
    let Some(selector) = &budget.selector else { return false };
    let mut selected = query.inventory().selected_by(query.item.namespace(), selector);
    selected.any(|other| query.counts(other) && !query.item.is_same(other))
}
