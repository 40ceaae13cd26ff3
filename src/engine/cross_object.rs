//! The evaluation by cross-object rules, of the objects of an input and of one object in a cluster.

use std::{cell::OnceCell, collections::BTreeMap};

use super::{context::Context, limits, verdict::Verdict};
use crate::{
    finding::{Finding, Mode},
    inventory::{
        Inventory,
        item::Item,
        view::{Freshness, View},
    },
    object::{Object, Subject},
    rules::{
        cross_object::RULES,
        rule::Rule,
        rule::inventory::{Coverage, Evidence, Former, InventoryFindings, Query},
    },
};

/// Evaluates an object in a cluster by the cross-object rules. Returns the number of rules that did
/// not run, because time ran out.
pub(super) fn in_cluster(
    subject: &Subject<'_>,
    view: &View,
    cx: &Context<'_>,
    verdict: &mut Verdict,
) -> usize {
    let own = Item::of(&subject.object);
    let kind = own.kind();
    let old = OnceCell::new();
    let read_old = || {
        let old = old.get_or_init(|| {
            let old = subject.old_alone()?.object;
            Some((Item::of(&old), old))
        });
        old.as_ref()
    };
    let former = || read_old().map(|(item, _)| item);
    let rules = RULES.iter().filter(|rule| {
        let is_ready = match rule.evidence() {
            Some(Evidence::Manifest) => false,
            Some(Evidence::AbsentNeighbor) => subject.is_update,
            Some(Evidence::Absence | Evidence::Presence) | None => true,
        };
        rule.kinds().contains(&kind) && is_ready
    });
    let mut too_late = 0;
    for rule in rules.filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        if too_late > 0 || cx.deadline.has_passed() {
            too_late += 1;
            continue;
        }
        let found = run(rule, view, (&own, &subject.object), Former::Lazy(&former), cx);
        let left_out = found.left_out();
        for (through, mut finding) in found.into_vec() {
            let mut most = match rule.evidence() {
                Some(Evidence::Absence | Evidence::AbsentNeighbor) => Mode::Warn,
                Some(Evidence::Manifest | Evidence::Presence) | None => Mode::Deny,
            };
            if let Freshness::Stale { as_of } = view.freshness(through) {
                most = most.min(Mode::Warn);
                // A long message is cut at the end, so the time comes first.
                let when = format!("as of {} UTC: ", as_of.strftime("%H:%M:%S"));
                finding.message.insert_str(0, &when);
            }
            let had_before = |_: &Finding| {
                let old = read_old();
                old.is_some_and(|(item, object)| {
                    !run(rule, view, (item, object), Former::None, cx).is_empty()
                })
            };
            let before = verdict.violations.len();
            verdict.add(finding, &(&own).into(), had_before, cx);
            for violation in verdict.violations.iter_mut().skip(before) {
                violation.mode = violation.mode.min(most);
            }
        }
        verdict.leave_out(&rule.meta, left_out);
    }
    too_late
}

/// Runs a rule on an object that a cluster is asked to store.
fn run<'a>(
    rule: &'static Rule,
    view: &'a View,
    (item, object): (&'a Item, &'a Object<'_>),
    former: Former<'a>,
    cx: &'a Context<'_>,
) -> InventoryFindings {
    let query = Query::in_cluster(view, item, object.template(), &cx.policy.cluster);
    rule.run_among(&query.changed_from(former))
}

/// Evaluates an object that is stored in a cluster by the cross-object rules. The view must have
/// been completed after the object was read, so that objects that it lacks are missing.
pub fn evaluate_stored(item: &Item, view: &View, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let kind = item.kind();
    let rules = RULES
        .iter()
        .filter(|rule| rule.kinds().contains(&kind) && rule.evidence() != Some(Evidence::Manifest));
    for rule in rules.filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        let found = rule.run_among(&Query::stored(view, item, &cx.policy.cluster));
        let left_out = found.left_out();
        for (_, finding) in found.into_vec() {
            verdict.add(finding, &item.into(), |_| false, cx);
        }
        verdict.leave_out(&rule.meta, left_out);
    }
    verdict
}

/// Evaluates the objects of an input by the cross-object rules. The key of a verdict is the
/// object's index in the inventory. `before` contains the previous objects, for ratcheting.
pub fn evaluate_cross_object(
    inventory: &Inventory,
    coverage: &Coverage,
    before: &Inventory,
    cx: &Context<'_>,
) -> BTreeMap<usize, Verdict> {
    let mut verdicts: BTreeMap<usize, Verdict> = BTreeMap::new();
    let evaluated = || inventory.items().filter(|(_, item)| item.is_evaluated());
    let former = |item| {
        let former = before.same_as(item).next().and_then(|old| before.get(old));
        former.map_or(Former::None, Former::Item)
    };
    let query = |inventory, index, former| {
        let query = Query::in_input(inventory, index, coverage, &cx.policy.cluster)?;
        Some(query.changed_from(former))
    };
    for rule in RULES.iter().filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        let run = |inventory, index, former| match query(inventory, index, former) {
            Some(query) => rule.run_among(&query),
            None => InventoryFindings::of(&rule.meta),
        };
        for (index, item) in evaluated() {
            let found = run(inventory, index, former(item));
            if found.is_empty() {
                continue;
            }
            let verdict = verdicts.entry(index).or_default();
            let left_out = found.left_out();
            for (_, finding) in found.into_vec() {
                let had_before = |_: &Finding| {
                    before.same_as(item).any(|old| !run(before, old, Former::None).is_empty())
                };
                verdict.add(finding, &item.into(), had_before, cx);
            }
            verdict.leave_out(&rule.meta, left_out);
        }
    }
    for (index, item) in evaluated().filter(|_| !cx.policy.limits.is_empty()) {
        let mut verdict = Verdict::default();
        if let Some(query) = query(inventory, index, former(item)) {
            limits::add_nodes(&query, item, cx, &mut verdict);
        }
        if !verdict.violations.is_empty() {
            verdicts.entry(index).or_default().join(verdict);
        }
    }
    verdicts
}
