//! A StatefulSet whose PodDisruptionBudget keeps broken pods on their nodes.

use crate::rules::neighbors::budgets;
use crate::rules::prelude::*;

pub(super) const SCOPE: Scope =
    Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check };

fn check(query: &Query<'_>, found: &mut Findings) {
    let replicas = i64::from(query.details.replicas);
    let keeps = |Protection { budget, .. }: &Protection<'_>| {
        let (least, most) = (budget.min_available.as_ref(), budget.max_unavailable.as_ref());
        !budget.is_owned
            && !budget.evicts_unready
            && budgets::wanted(least, most, replicas).is_none()
    };
    let budget = Protection::all(query).into_iter().find(keeps);
    // In a running cluster, the status shows whether pods are broken.
    let may_break = replicas > 1 && !query.is_stored();
    let Some(Protection { item, .. }) = budget.filter(|_| may_break) else { return };
    found.via(
        Kind::PodDisruptionBudget,
        &SPEC.child("replicas"),
        Reason::Invalid,
        format!(
            "while more pods are broken than its {item} spares, no broken pod can be evicted, so a \
             drain of their nodes waits until a user repairs or deletes them"
        ),
        "set unhealthyPodEvictionPolicy: AlwaysAllow there, unless pods that recover must not be evicted",
    );
}
