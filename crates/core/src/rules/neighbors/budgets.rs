use crate::rules::prelude::*;
use crate::{
    inventory::{Selecting, object_summary::DisruptionBudget},
    kubernetes::int_or_percent::{number, percentage, to_value},
};

#[derive(Clone, Copy)]
pub(in crate::rules) struct Protection<'a> {
    pub(in crate::rules) item: &'a ObjectSummary,
    pub(in crate::rules) budget: &'a DisruptionBudget,
}

impl<'a> Protection<'a> {
    /// Each PodDisruptionBudget appears once even if an input has it several times.
    pub(in crate::rules) fn all(query: &Query<'a>) -> Vec<Self> {
        let namespace = query.item.namespace();
        let labels = &query.controller.labels;
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for item in query.inventory().selecting(Selecting::Budgets, namespace, labels) {
            let Some(budget) = item.budget() else { continue };
            let selector = budget.selector.as_ref().filter(|_| item.namespace() == namespace);
            if selector.is_some_and(|selector| selector.matches(labels))
                && query.counts(item)
                && names.insert(item.name())
            {
                all.push(Protection { item, budget });
            }
        }
        all
    }
}

/// The setting that requires all of these pods.
pub(in crate::rules) fn wanted(
    min_available: Option<&IntOrString>,
    max_unavailable: Option<&IntOrString>,
    replicas: i64,
) -> Option<String> {
    if let Some(most) = max_unavailable {
        // A percentage is rounded up, so only zero allows no disruption.
        return (number(most) == 0).then(|| format!("maxUnavailable: {}", to_value(most)));
    }
    let least = min_available?;
    let wanted = match percentage(least) {
        Some(percent) => percent.saturating_mul(replicas).saturating_add(99) / 100,
        None => number(least),
    };
    (wanted >= replicas).then(|| format!("minAvailable: {}", to_value(least)))
}
