//! The PodDisruptionBudgets that protect the pods of an object.

use std::collections::HashSet;

use super::rule::Asked;
use crate::inventory::item::{Budget, Item};

/// A PodDisruptionBudget that selects the pods of an object.
#[derive(Clone, Copy)]
pub(super) struct Protection<'a> {
    pub(super) item: &'a Item,
    pub(super) budget: &'a Budget,
}

impl<'a> Protection<'a> {
    /// All PodDisruptionBudgets that select the pods of the object, each once even if an input has it
    /// several times.
    pub(super) fn all(asked: &Asked<'a>) -> Vec<Self> {
        let namespace = asked.item.namespace();
        let Some(controller) = asked.item.controller() else { return Vec::new() };
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for item in asked.inventory().budgets(namespace, &controller.labels) {
            let Some(budget) = item.budget() else { continue };
            let selector = budget.selector.as_ref().filter(|_| item.namespace() == namespace);
            if selector.is_some_and(|selector| selector.matches(&controller.labels))
                && asked.counts(item)
                && names.insert(item.name())
            {
                all.push(Protection { item, budget });
            }
        }
        all
    }
}
