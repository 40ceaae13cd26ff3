//! Runs the cross-object rules, on the objects of an input or on one object in a cluster.

use super::limits;
use crate::engine::prelude::*;
use crate::{
    inventory::Inventory,
    kubernetes::kind::Kind,
    rules::{
        cross_object,
        rule::inventory::{Coverage, Evidence, OldSummary, Query},
    },
};

/// Returns how many rules did not run because time ran out.
pub(super) fn in_cluster(
    subject: &Subject<'_>,
    view: &View,
    cx: &Context<'_>,
    verdict: &mut Verdict,
) -> usize {
    let own = subject.summary();
    let old = || subject.old_alone().map(Subject::summary);
    let rules = cross_object().filter(|rule| {
        let is_ready = match rule.evidence() {
            Some(Evidence::Manifest) => false,
            Some(Evidence::AbsentNeighbor) => subject.is_update,
            Some(Evidence::Absence | Evidence::Presence) | None => true,
        };
        rule.is_about(own.kind()) && is_ready
    });
    let mut too_late = 0;
    for rule in rules.filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        if too_late > 0 || cx.deadline.has_passed() {
            too_late += 1;
            continue;
        }
        let query = Query::in_cluster(view, subject, &cx.policy.cluster);
        let found = rule.run_among(&query.changed_from(&old));
        let left_out = found.left_out().collect();
        for mut finding in found.into_vec() {
            let mut most = match rule.evidence() {
                Some(Evidence::Absence | Evidence::AbsentNeighbor) => Mode::Warn,
                Some(Evidence::Manifest | Evidence::Presence) | None => Mode::Deny,
            };
            let freshness =
                view.freshness(finding.through.and_then(Kind::named).unwrap_or(own.kind()));
            if let Freshness::Stale { as_of } = freshness {
                most = most.min(Mode::Warn);
                // A long message is cut at the end, so the time comes first.
                let when = format!("as of {} UTC: ", as_of.strftime("%H:%M:%S"));
                finding.message.insert_str(0, &when);
            }
            let had_before = |_: &Finding| {
                subject.old_alone().is_some_and(|old| {
                    let query = Query::in_cluster(view, old, &cx.policy.cluster);
                    !rule.run_among(&query).is_empty()
                })
            };
            let before = verdict.violations.len();
            verdict.add(finding, &own.into(), had_before, cx);
            for violation in verdict.violations.iter_mut().skip(before) {
                violation.mode = violation.mode.min(most);
            }
        }
        verdict.leave_out(left_out);
    }
    too_late
}

/// Runs the cross-object rules on an object that is stored in a cluster. The view must be complete as of a later time
/// than the object, so that objects that are not in the view do not exist.
pub fn evaluate_stored(item: &ObjectSummary, view: &View, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let kind = item.kind();
    let rules = cross_object()
        .filter(|rule| rule.is_about(kind) && rule.evidence() != Some(Evidence::Manifest));
    for rule in rules.filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        let found = rule.run_among(&Query::stored(view, item, &cx.policy.cluster));
        verdict.add_all(found, &item.into(), |_| false, cx);
    }
    verdict
}

/// Runs the cross-object rules on the objects of an input. Verdicts are keyed by the object's index in the inventory.
/// `before` contains the previous objects, for ratcheting.
pub fn evaluate_cross_object(
    inventory: &Inventory,
    coverage: &Coverage,
    before: &Inventory,
    cx: &Context<'_>,
) -> BTreeMap<usize, Verdict> {
    let neighbors = Neighbors::new(inventory, coverage, before, cx);
    let verdicts = neighbors.evaluated();
    verdicts.filter_map(|index| Some((index, neighbors.evaluate(index)?))).collect()
}

/// The objects of an input, to run the cross-object rules on each of them.
#[derive(Debug)]
pub struct Neighbors<'a> {
    inventory: &'a Inventory,
    coverage: &'a Coverage,
    before: &'a Inventory,
    cx: &'a Context<'a>,
    /// Without the rules that are off.
    rules: Vec<&'static Rule>,
}

impl<'a> Neighbors<'a> {
    /// `coverage` lists the objects that the input has completely; `before` contains the previous objects, for
    /// ratcheting.
    pub fn new(
        inventory: &'a Inventory,
        coverage: &'a Coverage,
        before: &'a Inventory,
        cx: &'a Context<'a>,
    ) -> Self {
        let rules = cross_object().filter(|rule| cx.mode(&rule.meta) != Mode::Off);
        let rules = rules.collect();
        Neighbors { inventory, coverage, before, cx, rules }
    }

    /// Returns the indexes of the objects that rules apply to.
    pub fn evaluated(&self) -> impl Iterator<Item = usize> {
        self.inventory.items().filter(|(_, item)| item.is_evaluated()).map(|(index, _)| index)
    }

    /// Evaluates the object with this index. `None` if there are no findings.
    pub fn evaluate(&self, index: usize) -> Option<Verdict> {
        let item = self.inventory.get(index)?;
        let old = self.before.same_as(item).next().and_then(|old| self.before.get(old));
        let old = || old;
        let (mut verdict, mut is_found) = (Verdict::default(), false);
        for rule in self.rules.iter().copied() {
            let found = self.run(rule, self.inventory, index, &old);
            if found.is_empty() {
                continue;
            }
            is_found = true;
            let had_before = |_: &Finding| {
                let mut old = self.before.same_as(item);
                old.any(|old| {
                    let file = self.before.get(old).and_then(ObjectSummary::file);
                    !self.run(rule, self.before, old, &|| None).is_empty()
                        && !self.cx.was_exempt(&rule.meta, &item.into(), file)
                })
            };
            verdict.add_all(found, &item.into(), had_before, self.cx);
        }
        let (query, mut of_limits) = (self.query(self.inventory, index, &old)?, Verdict::default());
        limits::add_nodes(&query, item, self.cx, &mut of_limits);
        if of_limits.violations.is_empty() {
            return is_found.then_some(verdict);
        }
        verdict.join(of_limits);
        Some(verdict)
    }

    fn query<'q>(
        &'q self,
        inventory: &'q Inventory,
        index: usize,
        old: OldSummary<'q>,
    ) -> Option<Query<'q>> {
        let query = Query::in_input(inventory, index, self.coverage, &self.cx.policy.cluster)?;
        Some(query.changed_from(old))
    }

    fn run<'q>(
        &'q self,
        rule: &'static Rule,
        inventory: &'q Inventory,
        index: usize,
        old: OldSummary<'q>,
    ) -> Findings {
        let found = self.query(inventory, index, old).map(|query| rule.run_among(&query));
        found.unwrap_or(Findings::of(&rule.meta))
    }
}
