//! The PodDisruptionBudgets that protect the pods of an object.

use std::collections::HashSet;

use crate::{
    inventory::object_summary::{DisruptionBudget, ObjectSummary},
    rules::rule::inventory::Query,
};

/// A PodDisruptionBudget that selects the pods of an object.
#[derive(Clone, Copy)]
pub(in crate::rules) struct Protection<'a> {
    pub(in crate::rules) item: &'a ObjectSummary,
    pub(in crate::rules) budget: &'a DisruptionBudget,
}

impl<'a> Protection<'a> {
    /// Returns all PodDisruptionBudgets that select the pods of the object, each once even if an
    /// input has it several times.
    pub(in crate::rules) fn all(query: &Query<'a>) -> Vec<Self> {
        let namespace = query.item.namespace();
        let Some(controller) = query.item.controller() else { return Vec::new() };
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for item in query.inventory().budgets(namespace, &controller.labels) {
            let Some(budget) = item.budget() else { continue };
            let selector = budget.selector.as_ref().filter(|_| item.namespace() == namespace);
            if selector.is_some_and(|selector| selector.matches(&controller.labels))
                && query.counts(item)
                && names.insert(item.name())
            {
                all.push(Protection { item, budget });
            }
        }
        all
    }
}
